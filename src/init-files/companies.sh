#!/bin/sh
# Buys the text of each website in companies.csv, and writes out/companies.csv. Run it again at any time: it buys only new rows.
# Further flags are added: ./companies.sh --dry-run
set -eu
cd "$(dirname "$0")"
# searchflow as installed in this folder or a parent folder, else that of the PATH.
folder=$PWD
while [ -n "$folder" ] && [ ! -x "$folder/node_modules/.bin/searchflow" ]; do folder=${folder%/*}; done
[ -z "$folder" ] || PATH="$folder/node_modules/.bin:$PATH"
export PATH SEARCHFLOW_SETTINGS="${SEARCHFLOW_SETTINGS-.env}"
exec searchflow enrich companies.csv --url-column website --csv out/companies.csv "$@"
