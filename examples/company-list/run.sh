#!/bin/sh
# A list of companies enriched by searches, then by agents. Without a key it runs on the sandbox.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
searchflow=${SEARCHFLOW:-searchflow}
into=out/companies.duckdb

# The official site of each company. The view search_results has all results; the CSV has the first result.
$searchflow enrich "$here/companies.csv" --op search --query '{{name}} official site' --num-results 3 \
  --job sites --into "$into" --csv out/sites.csv

# An agent run for each company, at a fixed price; the schema's properties become columns.
$searchflow agent rows "$here/companies.csv" \
  --query 'Who leads {{name}} ({{website}}), and how large is it?' --schema "$here/company.schema.json" --effort low \
  --job leaders --into "$into" --csv out/leaders.csv --max-cost 5

# The same with eight companies in each run. The field row_id assigns each part of the output to its row.
$searchflow agent rows "$here/companies.csv" \
  --query 'For each company: who leads it, and how large is it?' --schema "$here/company.schema.json" --effort low \
  --rows-per-run 8 --job leaders-together --into "$into" --csv out/leaders-together.csv --max-cost 5
