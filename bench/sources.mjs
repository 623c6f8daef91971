// Peak memory of a command by the source of its rows: each stages one table with all types, and buys its first rows.
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { enrichEnv } from './enrich.mjs';
import { command, median, serviceProcess, timed, workFolder } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { rows: 100_000, runs: 3, bought: 100 };

const tableOf = (rows) => `SELECT i::INTEGER AS id, 'Company, number ' || i AS name,
  'https://site-' || (i % 9973) || '.example/company/' || i AS url, i % 2 = 0 AS even, (i * 7)::BIGINT AS big, (i / 8)::DECIMAL(12,3) AS price,
  i / 7.0::DOUBLE AS ratio, DATE '2020-01-01' + (i % 2000)::INTEGER AS day, TIMESTAMP '2026-01-01' + to_seconds(i) AS at,
  CASE WHEN i % 5 = 0 THEN NULL WHEN i % 5 = 1 THEN '' ELSE 'note ' || i END AS note,
  {'city': 'Town ' || (i % 77), 'zip': i % 9999} AS place, ['x' || i, 'y'] AS tags FROM range(${rows}) t(i)`;

/** Writes the table in each format, and loads it into PostgreSQL. Returns the arguments of each source. */
async function writeTable(dir, rows, address) {
  const file = (name) => join(dir, name);
  const instance = await DuckDBInstance.create(file('table.duckdb'));
  const connection = await instance.connect();
  const json = '* REPLACE (to_json(place) AS place, to_json(tags) AS tags)';
  await connection.run(`CREATE TABLE rows_of_all_types AS ${tableOf(rows)}`);
  await connection.run(`COPY (SELECT ${json} FROM rows_of_all_types) TO '${file('table.csv')}' (HEADER)`);
  await connection.run(`COPY rows_of_all_types TO '${file('table.jsonl')}' (FORMAT json)`);
  await connection.run(`COPY rows_of_all_types TO '${file('table.parquet')}'`);
  connection.closeSync();
  instance.closeSync();
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  await client.query(
    `CREATE TABLE rows_of_all_types AS SELECT i AS id, 'Company, number ' || i AS name,
       'https://site-' || (i % 9973) || '.example/company/' || i AS url, i % 2 = 0 AS even, i * 7::bigint AS big, (i / 8.0)::numeric(12,3) AS price,
       i / 7.0::float8 AS ratio, DATE '2020-01-01' + i % 2000 AS day, TIMESTAMP '2026-01-01' + i * interval '1 second' AS at,
       CASE WHEN i % 5 = 0 THEN NULL WHEN i % 5 = 1 THEN '' ELSE 'note ' || i END AS note,
       jsonb_build_object('city', 'Town ' || (i % 77), 'zip', i % 9999) AS place, ARRAY['x' || i, 'y'] AS tags FROM generate_series(0, ${rows - 1}) i`,
  );
  await client.end();
  return {
    csv: [file('table.csv')],
    jsonl: [file('table.jsonl')],
    parquet: [file('table.parquet')],
    duckdb: [file('table.duckdb'), '--table', 'rows_of_all_types'],
    postgres: ['--from', address, '--sql', 'SELECT * FROM rows_of_all_types ORDER BY id'],
  };
}

export async function run({ rows, runs, bought }) {
  const { dir, remove } = workFolder();
  const server = await startPostgres();
  const service = await serviceProcess({ qps: 100_000 });
  try {
    const sources = await writeTable(dir, rows, await server.database('bench_sources'));
    const peaks = Object.fromEntries(Object.keys(sources).map((name) => [name, []]));
    for (let turn = 0; turn < runs; turn++) {
      for (const [name, source] of Object.entries(sources)) {
        const state = join(dir, `${name}-${turn}`);
        const into = join(state, 'out.duckdb');
        const more = ['--limit', `${bought}`, '--into', into, '--job', name, '--json', '--yes'];
        const { seconds, peakMb } = await timed([command, 'enrich', ...source, ...more], {
          cwd: dir,
          env: enrichEnv(service.url, state),
        });
        row({ source: name, rows, seconds, 'peak MB': peakMb });
        peaks[name].push(peakMb);
      }
    }
    const csv = median(peaks.csv);
    for (const [name, all] of Object.entries(peaks))
      if (name !== 'csv') bar(`peak memory, ${name} / csv`, median(all) / csv, '<= 1.15');
  } finally {
    await service.stop();
    await server.stop();
    remove();
  }
}
