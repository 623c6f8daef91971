// A plain script, as one writes it in an afternoon: node bench/plain-events.mjs URL DUCKDB FROM UNTIL [EXA-JS]. One cursor, JSON.parse, an
// appender; no current state, no durability, no rate limit, no retries. With the path of an installed exa-js, that client sends the
// requests, without times: its list of events has none.
import { createRequire } from 'node:module';
import { DuckDBInstance } from '@duckdb/node-api';
import { Pool } from 'undici';

const [base, file, from, until, exaJs] = process.argv.slice(2);
const started = performance.now();
const pool = new Pool(base, { connections: 1 });
const exa = exaJs && new (createRequire(import.meta.url)(exaJs).Exa)('exa-js', base);
const database = await DuckDBInstance.create(file);
const connection = await database.connect();
await connection.run(
  'create table events (id varchar, type varchar, created_at varchar, webset_id varchar, data varchar)',
);
const appender = await connection.createAppender('events');

async function pageAt(cursor) {
  if (exa) return exa.websets.events.list({ limit: 200, ...(cursor && { cursor }) });
  const query = new URLSearchParams({
    limit: '200',
    createdAfter: from,
    createdBefore: until,
    ...(cursor && { cursor }),
  });
  const { body } = await pool.request({
    path: `/websets/v0/events?${query}`,
    method: 'GET',
    headers: { 'x-api-key': 'plain' },
  });
  return JSON.parse(await body.text());
}

const seen = new Set();
let cursor = null;
do {
  const page = await pageAt(cursor);
  for (const event of page.data) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    appender.appendVarchar(event.id);
    appender.appendVarchar(event.type);
    appender.appendVarchar(event.createdAt);
    const webset = event.data.websetId ?? (event.data.object === 'webset' ? event.data.id : null);
    if (webset === null) appender.appendNull();
    else appender.appendVarchar(webset);
    appender.appendVarchar(JSON.stringify(event.data));
    appender.endRow();
  }
  cursor = page.hasMore ? page.nextCursor : null;
} while (cursor !== null);
appender.closeSync();
await connection.run('checkpoint');
const [[count]] = (await connection.runAndReadAll('select count(distinct id)::int from events')).getRows();
connection.closeSync();
database.closeSync();
await pool.destroy();
console.log(JSON.stringify({ events: count, seconds: (performance.now() - started) / 1000 }));
