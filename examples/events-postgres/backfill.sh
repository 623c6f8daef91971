#!/bin/sh
# Loads a range of webset events into PostgreSQL, and verifies its last week. Without a key it runs on the sandbox.
set -eu
: "${SEARCHFLOW_WAREHOUSE_URL:?is the address of the database, postgres://user:password@host/database?sslmode=verify-full}"
searchflow=${SEARCHFLOW:-searchflow}

$searchflow events backfill --from 30d --until 2d --parallel 8
$searchflow events verify --from 9d --until 2d
