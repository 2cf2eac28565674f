{{- define "tuppence.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tuppence.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/name: tuppence
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Of one of the two services: (dict "root" $ "component" "exporter"). */}}
{{- define "tuppence.selector" -}}
app.kubernetes.io/name: tuppence
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "tuppence.account" -}}
{{- $given := (index .root.Values .component).serviceAccount -}}
{{- if $given.name -}}
{{- $given.name -}}
{{- else if $given.create -}}
{{- printf "%s-%s" (include "tuppence.fullname" .root) .component -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "tuppence.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "tuppence.claim" -}}
{{- .Values.store.volume.existingClaim | default (printf "%s-prices" (include "tuppence.fullname" .)) -}}
{{- end -}}

{{/* What contradicts itself is refused before anything is installed. */}}
{{- define "tuppence.check" -}}
{{- if and (eq .Values.store.kind "objectStore") (not .Values.store.url) -}}
{{- fail "store.kind is objectStore: set store.url to an s3://, gs:// or az:// URL" -}}
{{- end -}}
{{- if and (eq .Values.store.kind "volume") .Values.store.url -}}
{{- fail "store.url is set and store.kind is volume: set store.kind to objectStore, or leave store.url empty" -}}
{{- end -}}
{{- if and .Values.hub.inCluster .Values.hub.existingSecret -}}
{{- fail "set hub.inCluster or hub.existingSecret, not both" -}}
{{- end -}}
{{- if ne .Values.mode "recommend" -}}
{{- if not (or .Values.hub.inCluster .Values.hub.existingSecret) -}}
{{- fail (printf "mode is %s: name the hub with hub.inCluster or hub.existingSecret" .Values.mode) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.mode "pilot") (not .Values.hub.pilotNamespaces) -}}
{{- fail "mode is pilot: name the hub's namespaces of the pilot's clusters in hub.pilotNamespaces" -}}
{{- end -}}
{{- if and .Values.ledger.existingSecret (not .Values.ledger.url) -}}
{{- fail "ledger.existingSecret is set without ledger.url" -}}
{{- end -}}
{{- end -}}

{{/* tuppence.yaml: the user's, with what the chart knows put over it. */}}
{{- define "tuppence.settings" -}}
{{- $store := ternary "/prices/snapshots" .Values.store.url (eq .Values.store.kind "volume") -}}
{{- $known := dict "store" (dict "url" $store) "prices" (dict "url" $store) "recommend" (dict "mode" .Values.mode) -}}
{{- $ledger := dict "url" (.Values.ledger.url | default "/data/ledger.sqlite") -}}
{{- if .Values.ledger.existingSecret -}}
{{- $_ := set $ledger "password_file" (printf "/run/secrets/ledger/%s" .Values.ledger.passwordKey) -}}
{{- end -}}
{{- $_ := set $known "ledger" $ledger -}}
{{- if .Values.policy -}}
{{- $_ := set $known "policy" "/etc/tuppence/policy.yaml" -}}
{{- end -}}
{{- if or .Values.hub.inCluster .Values.hub.existingSecret -}}
{{- $hub := dict "score_name" .Values.hub.scoreName "shadow_name" .Values.hub.shadowName "pilot_namespaces" .Values.hub.pilotNamespaces -}}
{{- if .Values.hub.inCluster -}}
{{- $_ := set $hub "in_cluster" true -}}
{{- else -}}
{{- $_ := set $hub "kubeconfig" "/run/secrets/hub/kubeconfig" -}}
{{- end -}}
{{- $_ := set $known "emit" (dict "hub" $hub) -}}
{{- end -}}
{{- range $component := list "exporter" "recommender" -}}
{{- if (index $.Values $component).webConfig.existingSecret -}}
{{- $_ := set $known (printf "%s_web" $component) (dict "config_file" "/etc/tuppence-web/web.yaml") -}}
{{- end -}}
{{- end -}}
{{- mustMergeOverwrite (deepCopy .Values.settings) $known | toYaml -}}
{{- end -}}

{{/* Whether the Prometheus Operator's kinds are made. */}}
{{- define "tuppence.operator" -}}
{{- if eq .Values.monitoring.operator "always" -}}
yes
{{- else if and (eq .Values.monitoring.operator "auto") (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor") -}}
yes
{{- end -}}
{{- end -}}

{{/* Pod template of either service: (dict "root" $ "component" … "port" … "args" … "mounts" … "volumes" …). */}}
{{- define "tuppence.pod" -}}
{{- $root := .root -}}
{{- $own := index $root.Values .component -}}
{{- $inHub := and (eq .component "recommender") $root.Values.hub.inCluster (ne $root.Values.mode "recommend") -}}
metadata:
  labels:
    {{- include "tuppence.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with $own.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/settings: {{ print (include "tuppence.settings" $root) (toYaml $root.Values.policy) | sha256sum }}
spec:
  serviceAccountName: {{ include "tuppence.account" (dict "root" $root "component" .component) }}
  automountServiceAccountToken: {{ if $inHub }}true{{ else }}false{{ end }}
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 10210
    runAsGroup: 10210
    fsGroup: 10210
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .beside }}
  # One volume that one node can hold: the recommender goes where the exporter is.
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "tuppence.selector" (dict "root" $root "component" .beside) | nindent 14 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "tuppence.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      env:
        - {name: TUPPENCE_CONFIG, value: /etc/tuppence/tuppence.yaml}
        {{- with $own.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: http, containerPort: {{ .port }}, protocol: TCP}
      {{- if $own.webConfig.existingSecret }}
      # Behind TLS and a password only the container itself can ask.
      readinessProbe:
        exec: {command: [python, -m, exporters.core.web.healthcheck, "{{ .port }}"]}
        periodSeconds: 15
        timeoutSeconds: 8
      livenessProbe:
        tcpSocket: {port: http}
        periodSeconds: 30
        failureThreshold: 6
      {{- else }}
      readinessProbe:
        httpGet: {path: /-/ready, port: http}
        periodSeconds: 15
        timeoutSeconds: 5
      livenessProbe:
        httpGet: {path: /-/healthy, port: http}
        periodSeconds: 30
        timeoutSeconds: 10
        failureThreshold: 6
      {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: settings, mountPath: /etc/tuppence, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- .mounts | nindent 8 }}
        {{- if $own.webConfig.existingSecret }}
        - {name: web, mountPath: /etc/tuppence-web, readOnly: true}
        {{- end }}
        {{- range $place, $secret := $own.secretMounts }}
        - {name: secret-{{ $place }}, mountPath: {{ $secret.mountPath }}, readOnly: true}
        {{- end }}
  volumes:
    - name: settings
      configMap: {name: {{ include "tuppence.fullname" $root }}}
    - name: tmp
      emptyDir: {sizeLimit: {{ $own.tmpSize }}}
    {{- .volumes | nindent 4 }}
    {{- if $own.webConfig.existingSecret }}
    - name: web
      secret: {secretName: {{ $own.webConfig.existingSecret }}, defaultMode: 0440}
    {{- end }}
    {{- range $place, $secret := $own.secretMounts }}
    - name: secret-{{ $place }}
      secret: {secretName: {{ $secret.existingSecret }}, defaultMode: 0440}
    {{- end }}
{{- end -}}
