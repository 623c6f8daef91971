#!/bin/sh
# Agent runs over a table, with a contract for their output. Without a key it runs on the sandbox.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
searchflow=${SEARCHFLOW:-searchflow}
table="$here/../company-list/companies.csv"
schema="$here/../company-list/company.schema.json"
query='Who leads {{name}} ({{website}}), and how large is it?'

# Ten rows first: read their answers before the rest is bought.
$searchflow agent rows "$table" --query "$query" --schema "$schema" --effort low --job leaders --into out/leaders.duckdb \
  --stop-at-failed 20% --stop-after 5 --max-cost 5 --limit 10

# The rest. One failed or empty answer in five pauses the job; a value that does not fit its column is NULL there, and in the table misfits.
$searchflow agent rows "$table" --query "$query" --schema "$schema" --effort low --job leaders --into out/leaders.duckdb \
  --stop-at-failed 20% --stop-after 5 --max-cost 5 --csv out/leaders.csv --fail-on-failed-rows 5%
