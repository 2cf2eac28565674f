# Two stages: everything is installed from the lock, with hashes, into /opt/tuppence; the second stage is only that and
# Python. Runs as nobody in particular, needs to write nowhere but /data
# (and /sample, for the sample data of docker-compose.yml).
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/tuppence
WORKDIR /src
COPY requirements.lock ./
RUN /opt/tuppence/bin/pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE NOTICE tuppence.py ./
COPY exporters exporters
COPY recommender recommender
RUN /opt/tuppence/bin/pip install --no-deps .

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Tuppence" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/tuppence/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/tuppence /opt/tuppence
RUN mkdir /data /sample && chown 10210:10210 /data /sample
USER 10210:10210
WORKDIR /data
EXPOSE 10210 10211
ENTRYPOINT ["tuppence", "--log-format", "json"]
CMD ["export"]
