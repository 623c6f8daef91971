"""The plain script with exa-py: exa_rows.py CSV URL DUCKDB."""

import asyncio
import csv
import json
import sys

import duckdb
import pyarrow
from exa_py import AsyncExa

source, base, file = sys.argv[1:]
CONCURRENCY = 32
TEXTS = ["id", "name", "url", "status", "error_tag", "title", "author", "published_date", "text", "response"]
SCHEMA = pyarrow.schema([(name, pyarrow.string()) for name in TEXTS] + [("cost", pyarrow.float64())])
database = duckdb.connect(file)
database.execute(f"create table pages ({', '.join(f'{name} varchar' for name in TEXTS)}, cost double)")
database.begin()


async def enrich(exa, rows):
    answer = await exa.get_contents([row["url"] for row in rows], text=True)
    results = {result.id: result for result in answer.results}
    statuses = {status.id: status for status in answer.statuses}
    items = []
    for row in rows:
        result = results.get(row["url"])
        status = statuses.get(row["url"])
        item = {**row, "cost": answer.cost_dollars.total / len(rows)}
        if status:
            item.update(status=status.status, error_tag=status.error and status.error.tag)
        if result:
            item.update(title=result.title, author=result.author, published_date=result.published_date, text=result.text)
            item["response"] = json.dumps(vars(result))
        items.append(item)
    batch = pyarrow.Table.from_pylist(items, schema=SCHEMA)
    database.execute("insert into pages select * from batch")


async def main():
    with open(source, newline="") as lines:
        rows = list(csv.DictReader(lines))
    batches = iter([rows[start : start + 100] for start in range(0, len(rows), 100)])

    async def work(exa):
        for batch in batches:
            await enrich(exa, batch)

    async with AsyncExa("exa-py", base) as exa:
        await asyncio.gather(*(work(exa) for _ in range(CONCURRENCY)))


asyncio.run(main())
database.commit()
database.close()
