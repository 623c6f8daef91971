// The plain script of plain-enrich.mjs, into PostgreSQL, with COPY: node bench/plain-enrich-postgres.mjs CSV URL DATABASE-URL [CLIENT].
import { createReadStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { parse } from 'csv-parse';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { CONCURRENCY, contentsClient } from './plain-client.mjs';

const [csv, base, database, name] = process.argv.slice(2);
const { contentsOf, close } = contentsClient(base, name);
const client = new pg.Client({ connectionString: database });
await client.connect();
await client.query(`create table pages (id text, name text, url text, status text, error_tag text,
  title text, author text, published_date text, text text, request_id text, cost double precision)`);
const copy = client.query(from('copy pages from stdin'));

const escapes = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const field = (value) =>
  value === undefined || value === null ? '\\N' : String(value).replace(/[\\\t\n\r]/g, (char) => escapes[char]);

async function enrich(rows) {
  const answer = await contentsOf(rows.map((row) => row.url));
  const results = new Map(answer.results.map((result) => [result.id, result]));
  const statuses = new Map(answer.statuses.map((status) => [status.id, status]));
  const cost = answer.costDollars.total / rows.length;
  const lines = rows.map((row) => {
    const result = results.get(row.url);
    const status = statuses.get(row.url);
    const values = [row.id, row.name, row.url, status?.status, status?.error?.tag];
    values.push(result?.title, result?.author, result?.publishedDate, result?.text, answer.requestId, cost);
    return `${values.map(field).join('\t')}\n`;
  });
  if (!copy.write(lines.join(''))) await new Promise((resolve) => copy.once('drain', resolve));
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
copy.end();
await finished(copy);
await client.end();
await close();
