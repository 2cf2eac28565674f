// The API server that serves custom resources in every Kubernetes cluster, with its etcd, in one process without
// authentication, for tests. It prints its address and then serves until it is ended.
package main

import (
	"fmt"
	"net"
	"net/url"
	"os"

	_ "open-cluster-management.io/api/cluster/v1alpha1" // the module holds the definitions that the tests install

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func etcd(folder string) string {
	any, err := url.Parse("http://127.0.0.1:0")
	check(err)
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.ListenClientUrls = []url.URL{*any}
	config.ListenPeerUrls = []url.URL{*any}
	server, err := embed.StartEtcd(config)
	check(err)
	<-server.Server.ReadyNotify()
	return "http://" + server.Clients[0].Addr().String()
}

// The server looks for Services, for webhooks that no definition here has: it may look for them in itself.
func kubeconfig(folder, address string) string {
	path := folder + "/kubeconfig"
	text := `apiVersion: v1
kind: Config
clusters: [{name: self, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]
contexts: [{name: self, context: {cluster: self}}]
current-context: self
`
	check(os.WriteFile(path, []byte(fmt.Sprintf(text, address)), 0o600))
	return path
}

func main() {
	folder := os.Args[1]
	registry := basecompatibility.NewComponentGlobalsRegistry()
	version := compatibility.DefaultBuildEffectiveVersion()
	check(registry.Register(basecompatibility.DefaultKubeComponent, version, utilfeature.DefaultMutableFeatureGate))
	chosen := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	chosen.ServerRunOptions.ComponentGlobalsRegistry = registry
	recommended := chosen.RecommendedOptions
	recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd(folder + "/etcd")}
	recommended.Authentication, recommended.Authorization = nil, nil
	recommended.Admission = nil
	recommended.Features.EnablePriorityAndFairness = false
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	recommended.CoreAPI.CoreAPIKubeconfigPath = kubeconfig(folder, listener.Addr().String())
	recommended.SecureServing.Listener = listener
	recommended.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	recommended.SecureServing.ServerCert.CertDirectory = folder + "/certificates"
	check(registry.Set())
	check(chosen.Complete())
	check(chosen.Validate())
	config, err := chosen.Config()
	check(err)
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	check(err)
	fmt.Println("https://" + listener.Addr().String())
	check(server.GenericAPIServer.PrepareRun().RunWithContext(genericapiserver.SetupSignalContext()))
}
