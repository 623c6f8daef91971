#!/bin/sh
# Creates a monitor, runs it once, pauses every monitor with team=growth over the weekend, and loads the results into DuckDB.
# Without a key it runs on the sandbox.
set -eu
searchflow=${SEARCHFLOW:-searchflow}
here=$(dirname "$0")

# The service returns the webhook secret only once. The secret is written to this file only.
monitor=$($searchflow monitors create "$here/launches.json" --secret-file secrets/webhooks.json)
$searchflow monitors trigger "$monitor"

# From Friday evening to Monday morning, by two schedules of the Temporal server. They fire only while `searchflow dev` runs in this folder.
$searchflow monitors pause --metadata team=growth --cron '0 20 * * fri' --tz Europe/Berlin --schedule-name weekend
$searchflow monitors unpause --of-schedule weekend --cron '0 7 * * mon' --tz Europe/Berlin --schedule-name weekend-end
$searchflow schedule list

# Loads runs and results. To load new ones, run this command again, or schedule it with --every 6h.
$searchflow monitors export --into out/monitors.duckdb
