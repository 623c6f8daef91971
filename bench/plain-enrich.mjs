// A plain script, as one writes it in an afternoon: node bench/plain-enrich.mjs CSV URL DUCKDB [CLIENT]. No durability, no rate limit, no
// retries. `CLIENT` sends the requests, see `contentsClient`.
import { createReadStream } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { CONCURRENCY, contentsClient } from './plain-client.mjs';

const [csv, base, file, client] = process.argv.slice(2);
const { contentsOf, close } = contentsClient(base, client);
const database = await DuckDBInstance.create(file);
const connection = await database.connect();
await connection.run(`create table pages (id varchar, name varchar, url varchar, status varchar, error_tag varchar,
  title varchar, author varchar, published_date varchar, text varchar, request_id varchar, cost double)`);
const appender = await connection.createAppender('pages');

async function enrich(rows) {
  const answer = await contentsOf(rows.map((row) => row.url));
  const results = new Map(answer.results.map((result) => [result.id, result]));
  const statuses = new Map(answer.statuses.map((status) => [status.id, status]));
  const cost = answer.costDollars.total / rows.length;
  for (const row of rows) {
    const result = results.get(row.url);
    const status = statuses.get(row.url);
    for (const value of [
      row.id,
      row.name,
      row.url,
      status?.status,
      status?.error?.tag,
      result?.title,
      result?.author,
      result?.publishedDate,
      result?.text,
      answer.requestId,
    ]) {
      if (value === undefined || value === null) appender.appendNull();
      else appender.appendVarchar(value);
    }
    appender.appendDouble(cost);
    appender.endRow();
  }
}

const running = new Set();
async function start(rows) {
  while (running.size >= CONCURRENCY) await Promise.race(running);
  const task = enrich(rows).finally(() => running.delete(task));
  running.add(task);
}
let rows = [];
for await (const row of createReadStream(csv).pipe(parse({ columns: true }))) {
  rows.push(row);
  if (rows.length === 100) {
    await start(rows);
    rows = [];
  }
}
if (rows.length > 0) await start(rows);
await Promise.all(running);
appender.closeSync();
connection.closeSync();
database.closeSync();
await close();
