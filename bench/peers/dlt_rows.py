"""Page contents with dlt: dlt_rows.py CSV URL DUCKDB items|arrow."""

import csv
import sys

import dlt
from dlt.sources.helpers import requests
from dlt_run import page_of, read_json, run

source, base, file = sys.argv[1:4]


@dlt.resource
def batches():
    with open(source, newline="") as lines:
        rows = list(csv.DictReader(lines))
    for start in range(0, len(rows), 100):
        # In a list: dlt passes the items of a page to a transformer as one value, and a row is not a batch.
        yield [rows[start : start + 100]]


@dlt.transformer(data_from=batches, parallelized=True, write_disposition="append", columns={"response": {"data_type": "json"}})
def pages(batch):
    for rows in batch:
        body = {"urls": [row["url"] for row in rows], "text": True}
        answer = read_json(requests.post(f"{base}/contents", json=body, headers={"x-api-key": "dlt"}))
        results = {result["id"]: result for result in answer["results"]}
        statuses = {status["id"]: status for status in answer["statuses"]}
        cost = answer["costDollars"]["total"] / len(rows)
        items = []
        for row in rows:
            result = results.get(row["url"], {})
            status = statuses.get(row["url"], {})
            items.append(
                {
                    **row,
                    "status": status.get("status"),
                    "error_tag": (status.get("error") or {}).get("tag"),
                    "title": result.get("title"),
                    "author": result.get("author"),
                    "published_date": result.get("publishedDate"),
                    "text": result.get("text"),
                    "request_id": answer["requestId"],
                    "cost": cost,
                    "response": result or None,
                }
            )
        yield page_of(items, "response")


run(pages, file, workers=32)
