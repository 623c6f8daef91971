#!/bin/sh
# Loads webset events into DuckDB: the first time all events, then the new ones. Without a key it runs on the sandbox.
set -eu
searchflow=${SEARCHFLOW:-searchflow}

$searchflow events sync --into out/events.duckdb
$searchflow events status --into out/events.duckdb
