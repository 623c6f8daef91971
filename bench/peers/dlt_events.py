"""Webset events with dlt, merged by their id: dlt_events.py URL DUCKDB FROM UNTIL items|arrow|defaults.

Eight windows of time at once, and dlt's faster strategy of a merge; with `defaults` one cursor and the strategy that dlt chooses.
"""

import sys
from datetime import datetime, timedelta

import dlt
from dlt.sources.helpers import requests
from dlt_run import IS_TUNED, page_of, read_json, run

base, file, since, until = sys.argv[1:5]
WINDOWS = 8 if IS_TUNED else 1


@dlt.resource
def windows():
    first, last = (datetime.fromisoformat(time.replace("Z", "+00:00")) for time in (since, until))
    edges = [first + (last - first) * n / WINDOWS for n in range(WINDOWS)] + [last + timedelta(milliseconds=1)]
    for start, end in zip(edges, edges[1:]):
        bounds = (time.isoformat(timespec="milliseconds") for time in (start, end - timedelta(milliseconds=1)))
        yield dict(zip(("createdAfter", "createdBefore"), bounds))


@dlt.transformer(
    data_from=windows,
    parallelized=True,
    primary_key="id",
    write_disposition={"disposition": "merge", "strategy": "upsert"} if IS_TUNED else "merge",
    columns={"data": {"data_type": "json"}},
)
def events(window):
    query = {**window, "limit": 200}
    while True:
        url = f"{base}/websets/v0/events"
        page = read_json(requests.get(url, params=query, headers={"x-api-key": "dlt"}))
        if page["data"]:
            yield page_of(page["data"], "data")
        if not page["hasMore"]:
            return
        query["cursor"] = page["nextCursor"]


run(events, file, workers=WINDOWS)
