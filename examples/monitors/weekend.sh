#!/bin/sh
# Makes a monitor, lets it run once, pauses every monitor of the team growth over the weekend, and brings what they found into
# DuckDB. Without a key all of it happens on the sandbox.
set -eu
searchflow=${SEARCHFLOW:-searchflow}
here=$(dirname "$0")

# The webhook secret is told once: it goes to this file and nowhere else.
monitor=$($searchflow monitors create "$here/launches.json" --secret-file secrets/webhooks.json)
$searchflow monitors trigger "$monitor"

# From Friday evening to Monday morning, by two schedules of the Temporal server. They fire while `searchflow dev` runs here.
$searchflow monitors quiet --as weekend --from 'fri 20:00' --until 'mon 07:00' --tz Europe/Berlin --metadata team=growth
$searchflow monitors quiet list

# Runs and results; run again, or with --every 6h, it brings what is new.
$searchflow monitors export --into out/monitors.duckdb
