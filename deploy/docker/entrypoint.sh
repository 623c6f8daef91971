#!/bin/sh
# Starts searchflow as the only process of a container. A setting may be in a file, as Docker and Kubernetes mount secrets:
# SEARCHFLOW_API_KEY_FILE=/run/secrets/key sets SEARCHFLOW_API_KEY.
set -eu

for name in SEARCHFLOW_API_KEY SEARCHFLOW_SERVICE_KEY SEARCHFLOW_STORE SEARCHFLOW_WAREHOUSE_URL TEMPORAL_API_KEY; do
  eval "file=\${${name}_FILE:-}"
  [ -n "$file" ] || continue
  if [ ! -r "$file" ]; then
    echo "${name}_FILE: $file cannot be read by user $(id -u)." >&2
    exit 2
  fi
  # The last line break of the file is not part of the value.
  value=$(cat "$file")
  export "$name=$value"
  unset "${name}_FILE" value
done

# With exec, node gets SIGTERM itself and drains; it needs no init process, because a worker has no child processes.
exec node "$(dirname "$0")/../../dist/bin/searchflow.js" "$@"
