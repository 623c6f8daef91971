#!/bin/sh
# From names to sites, to page contents, to facts: each step reads the view of the step before. Run it again after a stop: each step
# resumes, and no landed answer is bought again. SEARCHFLOW: the command; default: searchflow. Further arguments go to each step.
set -eu
: "${SEARCHFLOW:=searchflow}"
here=$(dirname "$0")
into=out/chain.duckdb

$SEARCHFLOW enrich "$here/names.csv" --job sites --key name --into "$into" \
  --op search --query '{{name}} company website' --max-cost 1 --yes "$@"

$SEARCHFLOW enrich --from "$into" --job pages --key name --into "$into" \
  --sql "SELECT name, url FROM sites WHERE url IS NOT NULL" --text --max-cost 1 --yes "$@"

$SEARCHFLOW agent rows --from "$into" --job facts --key name --into "$into" \
  --sql "SELECT name, url, text[:2000] AS about FROM pages WHERE status = 'success'" \
  --query 'Find the facts about {{name}} ({{url}}). The page says: {{about}}' \
  --schema "$here/facts.schema.json" --effort low --max-cost 5 --yes "$@"
