# Two stages: everything is installed from locks, with hashes, into /opt/tuppence, and what only builds the wheel stays
# in /opt/build; the second stage is only /opt/tuppence and Python. Runs as nobody in particular, needs no shell, and writes nowhere but /data and /tmp
# (and /sample, for the sample data of docker-compose.yml).
#
# The base is pinned by version; pin the digest that `docker image inspect -f '{{index .RepoDigests 0}}' IMAGE` prints.
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN ["python", "-m", "venv", "/opt/tuppence"]
RUN ["python", "-m", "venv", "/opt/build"]
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
RUN ["/opt/tuppence/bin/pip", "install", "--require-hashes", "-r", "requirements.lock"]
RUN ["/opt/build/bin/pip", "install", "--require-hashes", "-r", "requirements-build.lock"]
COPY pyproject.toml README.md LICENSE NOTICE tuppence.py ./
COPY exporters exporters
COPY recommender recommender
RUN ["/opt/build/bin/pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "/wheels", "."]
RUN ["/opt/tuppence/bin/pip", "install", "--no-deps", "--no-index", "--find-links", "/wheels", "tuppence"]

FROM ${BASE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tuppence" \
      org.opencontainers.image.description="What a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds, and which workload should run where." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/python:3.11.14-slim-bookworm" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/tuppence/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/tuppence /opt/tuppence
RUN ["install", "--directory", "--owner=10210", "--group=10210", "/data", "/sample"]
USER 10210:10210
WORKDIR /data
EXPOSE 10210 10211
HEALTHCHECK --interval=15s --timeout=8s --start-period=30s --retries=4 \
  CMD ["python", "-m", "exporters.core.web.healthcheck", "10210", "10211"]
ENTRYPOINT ["tuppence", "--log-format", "json"]
CMD ["export"]
