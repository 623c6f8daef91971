"""The plain script with exa-py: exa_events.py URL DUCKDB. One cursor, as its list of events has no times."""

import json
import sys

import duckdb
import pyarrow
from exa_py import Exa

base, file = sys.argv[1:3]
SCHEMA = pyarrow.schema([(name, pyarrow.string()) for name in ("id", "type", "created_at", "data")])
database = duckdb.connect(file)
database.execute("create table events (id varchar, type varchar, created_at varchar, data varchar)")
database.begin()
items = []


def flush():
    batch = pyarrow.Table.from_pylist(items, schema=SCHEMA)
    database.execute("insert into events select * from batch")
    items.clear()


for event in Exa("exa-py", base).websets.events.list_all(limit=200):
    # The data of an event that the client does not know is a dict.
    data = json.dumps(event.data) if isinstance(event.data, dict) else event.data.model_dump_json(by_alias=True)
    items.append({"id": event.id, "type": event.type, "created_at": event.created_at.isoformat(), "data": data})
    if len(items) == 10_000:
        flush()
flush()
database.commit()
database.close()
