#!/bin/sh
# Starts searchflow as the only process of a container. A secret setting may be in a file, as Docker and Kubernetes mount secrets:
# SEARCHFLOW_API_KEY_FILE=/run/secrets/key sets SEARCHFLOW_API_KEY.
set -eu

for name in SEARCHFLOW_API_KEY EXA_API_KEY SEARCHFLOW_SERVICE_KEY SEARCHFLOW_STORE SEARCHFLOW_WAREHOUSE_URL SEARCHFLOW_SOURCE_URL \
  SEARCHFLOW_ALERT_URL SEARCHFLOW_ALERT_SECRET SEARCHFLOW_HEADERS TEMPORAL_API_KEY PGPASSWORD AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN; do
  eval "file=\${${name}_FILE:-} set=\${${name}:+yes}"
  [ -n "$file" ] || continue
  if [ -n "$set" ]; then
    echo "$name and ${name}_FILE are both set. Set one of them." >&2
    exit 2
  fi
  if [ ! -r "$file" ]; then
    echo "${name}_FILE: $file cannot be read by user $(id -u)." >&2
    exit 2
  fi
  # The last line break of the file is not part of the value.
  value=$(cat "$file")
  if [ -z "$value" ]; then
    echo "${name}_FILE: $file is empty." >&2
    exit 2
  fi
  export "$name=$value"
  unset "${name}_FILE" value
done

# With exec, node gets SIGTERM itself and drains; it needs no init process: the only child process
# of a worker, SEARCHFLOW_ALERT_COMMAND, is awaited.
exec node "$(dirname "$0")/../../dist/bin/searchflow.js" "$@"
