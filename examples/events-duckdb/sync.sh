#!/bin/sh
# Webset events into DuckDB: the first time all of them, then what is new. Without a key it runs on the sandbox.
set -eu
searchflow=${SEARCHFLOW:-searchflow}

$searchflow events sync --into out/events.duckdb
$searchflow events status --into out/events.duckdb
