#!/bin/sh
# Enriches the table `companies` of a PostgreSQL database into a PostgreSQL warehouse, now. With CRON it makes a schedule instead:
# CRON='0 2 * * *' nightly.sh. Without a key it runs on the sandbox.
set -eu
: "${SEARCHFLOW_SOURCE_URL:?is the address of the source, postgres://user:password@host/database?sslmode=verify-full}"
: "${SEARCHFLOW_WAREHOUSE_URL:?is the address of the warehouse, postgres://user:password@host/database?sslmode=verify-full}"
# The same without user and password: the command line of a process is not secret.
source=$(printf %s "$SEARCHFLOW_SOURCE_URL" | sed 's|//[^/@]*@|//|')
searchflow=${SEARCHFLOW:-searchflow}

set -- --from "$source" --sql 'SELECT id, name, website FROM companies ORDER BY id' --job companies --key id \
  --url-column website --refresh-after 30d --max-cost 20
[ -z "${CRON:-}" ] || set -- "$@" --cron "$CRON" --tz Europe/Berlin
exec $searchflow enrich "$@"
