"""Reads tables of published targets, and prints their rows as texts in JSON. Argument: a file with the request."""
import json
import sys

import duckdb
import psycopg
import pyarrow.dataset

with open(sys.argv[1]) as file:
    request = json.load(file)
found = []
if request["kind"] == "postgres":
    with psycopg.connect(request["url"].split("?")[0]) as db:
        db.execute("SET timezone = 'UTC'; SET bytea_output = 'hex'; SET search_path = public")
        for sql in request["statements"]:
            found.append(db.execute(sql).fetchall())
else:
    db = duckdb.connect(request.get("file", ":memory:"))
    db.execute("SET TimeZone = 'UTC'")
    for one in request["asked"]:
        if request["kind"] == "parquet":
            rows = pyarrow.dataset.dataset(one["files"]).to_table()  # DuckDB finds the variable by its name.
            table = "rows"
        else:
            table = '"' + one["table"].replace('"', '""') + '"'
        sql = f"SELECT {', '.join(one['selects'])} FROM {table} ORDER BY {one['selects'][-1]}"
        found.append(db.execute(sql).fetchall())
print(json.dumps(found))
