"""Runs a dlt pipeline into DuckDB with the settings that measured fastest: parquet files and one normalizing process; or with its defaults."""

import os
import sys

import dlt
import orjson
import pyarrow
from dlt.common.json import json

USES_ARROW = sys.argv[-1] == "arrow"
IS_TUNED = sys.argv[-1] != "defaults"


def run(resource, file, workers):
    if IS_TUNED:
        dlt.config["extract.workers"] = workers
        dlt.config["extract.max_parallel_items"] = workers
    pipeline = dlt.pipeline(
        "bench",
        pipelines_dir=os.path.join(os.path.dirname(file), "dlt"),
        destination=dlt.destinations.duckdb(file),
        dataset_name="bench",
    )
    pipeline.run(resource, **({"loader_file_format": "parquet"} if IS_TUNED else {})).raise_on_failed_jobs()


def page_of(items, column):
    """The items, or an Arrow table of them: the column has JSON, and dlt does not look into it."""
    if not USES_ARROW:
        return items
    for item in items:
        item[column] = None if item[column] is None else json.dumps(item[column])
    names = items[0].keys()
    return pyarrow.table({name: pyarrow.array([item[name] for item in items]) for name in names})


def read_json(response):
    return orjson.loads(response.content)
