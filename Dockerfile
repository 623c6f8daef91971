# The image of a worker: docker build -t searchflow .
# It runs `searchflow worker`; another command replaces the arguments. docs/tasks/deploy.md describes settings and volumes.

# glibc: the Temporal SDK has no binaries for musl.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN node scripts/build.mjs \
    && node deploy/docker/production.mjs \
    && npm prune --omit=dev --ignore-scripts \
    && rm -rf bench docs examples scripts src test

# The extensions of DuckDB for a publish to S3 or a DuckLake. They are inside the image, because a worker downloads nothing.
FROM ${PYTHON_IMAGE} AS extensions
ARG DUCKDB_EXTENSIONS="httpfs ducklake"
WORKDIR /extensions
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# The hashes of the packages are in the file, for x86-64 and ARM.
COPY deploy/docker/extensions.txt /all.txt
RUN for name in ${DUCKDB_EXTENSIONS}; do grep "^duckdb-extension-${name}==" /all.txt || exit 1; done > /chosen.txt \
    && if [ -s /chosen.txt ]; then pip install --no-cache-dir --no-deps --require-hashes --target /packages -r /chosen.txt; fi \
    && mkdir -p /packages \
    && find /packages -name '*.duckdb_extension' -exec cp {} /extensions ';'

FROM ${NODE_IMAGE}
# A container has one user, so a volume that all users may write is trusted. With two arenas, glibc's malloc keeps about 40 MB less.
ENV HOME=/var/lib/searchflow \
    MALLOC_ARENA_MAX=2 \
    NODE_ENV=production \
    SEARCHFLOW_TRUST_STATE_DIR=/var/lib/searchflow/state \
    SEARCHFLOW_LOG=json \
    SEARCHFLOW_METRICS=0.0.0.0:9464 \
    SEARCHFLOW_STATE_DIR=/var/lib/searchflow/state \
    SEARCHFLOW_PATHS=/data \
    SEARCHFLOW_DUCKDB_EXTENSIONS=/opt/searchflow/extensions
COPY --from=build /app /opt/searchflow
COPY --from=extensions /extensions /opt/searchflow/extensions
RUN groupadd --gid 10001 searchflow \
    && useradd --uid 10001 --gid searchflow --home-dir /var/lib/searchflow --create-home searchflow \
    && mkdir -p /data \
    && chown searchflow:searchflow /data
USER 10001:10001
# The state folder, and the files that workflows may read and write.
VOLUME ["/var/lib/searchflow", "/data"]
WORKDIR /data
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 CMD ["node", "/opt/searchflow/deploy/docker/health.mjs"]
ENTRYPOINT ["/opt/searchflow/deploy/docker/entrypoint.sh"]
CMD ["worker"]
