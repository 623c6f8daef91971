"""Reads a table of a published target, and prints its rows as sorted `name: text` in JSON. Arguments: target, table, extensions folder."""
import json
import sys

import duckdb
import pandas
import pyarrow
import pyarrow.dataset

target, table, extensions = sys.argv[1:4]
db = duckdb.connect()
url, _, query = target.partition("?")
if url.startswith("ducklake:"):
    db.execute(f"LOAD '{extensions}/ducklake.duckdb_extension'")
    db.execute(f"ATTACH '{url}' AS lake (READ_ONLY)")
    frame = db.sql(f"SELECT name, text FROM lake.{table}").df()
elif url.startswith("s3://"):
    db.execute(f"LOAD '{extensions}/httpfs.duckdb_extension'")
    for setting in query.split("&"):
        name, value = setting.split("=")
        db.execute(f"SET s3_{name} = '{value}'")
    manifest = json.loads(db.sql(f"SELECT content FROM read_text('{url}/manifest.json')").fetchone()[0])
    (found,) = [one for one in manifest["tables"] if one["name"] == table]
    files = [f"{url}/{file['path']}" for file in found["files"]]
    frame = db.execute("SELECT name, text FROM read_parquet($1)", [files]).df()
    assert len(frame) == found["rows"]
else:
    with open(f"{url}/manifest.json") as file:
        manifest = json.load(file)
    (found,) = [one for one in manifest["tables"] if one["name"] == table]
    files = [f"{url}/{file['path']}" for file in found["files"]]
    frame = pyarrow.dataset.dataset(files).to_table(columns=["name", "text"]).to_pandas()
    other = pandas.concat([pandas.read_parquet(file, columns=["name", "text"]) for file in files])
    assert len(frame) == len(other) == found["rows"]
print(json.dumps(sorted(f"{name}: {text}" for name, text in frame.itertuples(index=False))))
