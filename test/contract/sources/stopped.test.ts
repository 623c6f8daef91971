import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { databaseSource } from '../../../dist/worker/config/database-setting.js';
import type { RowReader } from '../../../src/rows/index.js';
import { isolatedReader } from '../../../src/sources/isolated-reader.js';
import { closeAfterTest } from '../../support/after-test.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { openSetting } from '../../support/jobs/setting.js';
import { sharedPostgres } from '../../support/postgres.js';
import { fileNamespace, openTemporal } from '../../support/temporal.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

/** Queries that do not end: without a row, and with endless rows. */
const endless = {
  'without a row':
    'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 1000 FROM r) SELECT max(n) AS url FROM r',
  'with endless rows':
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 1000 FROM r) SELECT 'https://a.example/' AS url FROM r",
};
const soon = { timeout: 20_000, interval: 20 };
const folder = Folder.ofFile();
const file = join(folder.dir, 'x.duckdb');
let url: string;
let client: pg.Client;

beforeAll(async () => {
  await runInDuckDb(file);
  url = await sharedPostgres().database('stopped');
  client = new pg.Client({ connectionString: url });
  await client.connect();
});
afterAll(() => client?.end());

/** The number of statements that the server runs for sources of rows. */
async function statements(): Promise<number> {
  const { rows } = await client.query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'searchflow rows' AND datname = current_database() AND state <> 'idle'",
  );
  return rows[0].n;
}

/** Reads all rows and forgets them. */
async function readAll(reader: RowReader, signal: AbortSignal) {
  const table = await reader.open(signal);
  try {
    for await (const _batch of table.batches());
  } finally {
    await table.close();
  }
}

it.each(Object.entries(endless))(
  'a query that does not end, %s, stops in DuckDB and at the PostgreSQL server when its reading is aborted, also before it begins',
  async (_how, sql) => {
    for (const input of [file, url]) {
      const request = { input, sql, isKeyed: true, stdin: Readable.from([]), delimiter: null, scratch: folder.dir };
      const reader = () => isolatedReader(request, null, process.env);
      const why = new Error('no more');
      const stop = new AbortController();
      const reading = readAll(reader(), stop.signal).catch((error: unknown) => error);
      if (input === url) await expect.poll(statements, soon).toBe(1);
      stop.abort(why);
      expect(await reading).toBe(why);
      expect(await readAll(reader(), stop.signal).catch((error: unknown) => error)).toBe(why);
    }
    await expect.poll(statements, soon).toBe(0);
  },
);

/** The environment of a command with a state folder of this name. A Temporal server of its own would cost seconds of the processor. */
const environment = (state: string) => ({
  ...{ SEARCHFLOW_STATE_DIR: join(folder.dir, state), XDG_STATE_HOME: folder.dir },
  ...{ TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace() },
});

it('a command that is stopped ends its query, and has bought nothing', async () => {
  const env = environment('state');
  for (const from of [file, url]) {
    const sql = endless['without a row'];
    const args = ['enrich', '--from', from, '--sql', sql, '--job', 'endless', '--key', 'url', '--yes'];
    const command = startCommand(args, { cwd: folder.dir, env });
    onTestFinished(() => void command.child.kill('SIGKILL'));
    const scratch = () =>
      readdirSync(folder.dir, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith('.scratch'));
    await expect.poll(async () => (from === url ? (await statements()) === 1 : scratch()), soon).toBe(true);
    command.child.kill('SIGINT');
    expect([await command.ended, command.err().split('\n').at(-2)]).toEqual([130, 'Stopped; nothing was bought.']);
    expect(scratch()).toBe(false);
  }
  expect(await statements()).toBe(0);
});

it('a workflow that stages an endless query ends when it is cancelled, and its worker when it is drained', async () => {
  const temporal = closeAfterTest(await openTemporal());
  const setting = closeAfterTest(await openSetting(temporal, { config: { source: databaseSource(url) } }));
  const input = Object.assign(new URL(url), { username: '', password: '' }).href;
  const query = { input, sql: endless['without a row'], key: ['url'], urlColumn: 'url', job: 'endless' };
  const cancelled = await setting.begin([], query);
  await expect.poll(statements, soon).toBe(1);
  await cancelled.handle.cancel();
  await expect(cancelled.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  await expect.poll(statements, soon).toBe(0);
  const drained = await setting.begin([], { ...query, job: 'again' });
  await expect.poll(statements, soon).toBe(1);
  await setting.host().stop();
  expect(await statements()).toBe(0);
  await drained.handle.terminate();
});

it('a staging that ended its process five times is refused once with a sentence', async () => {
  const stateDir = join(folder.dir, 'deadly');
  const env = environment('deadly');
  const sql = endless['without a row'];
  const args = ['enrich', '--from', file, '--sql', sql, '--job', 'deadly', '--key', 'url', '--yes'];
  const scratches = () =>
    existsSync(stateDir)
      ? readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.scratch'))
      : [];
  const killOnce = async (before: number) => {
    const command = startCommand(args, { cwd: folder.dir, env });
    await expect.poll(() => scratches().length, soon).toBe(before + 1);
    command.child.kill('SIGKILL');
    await command.ended;
  };
  await killOnce(0);
  // Three more attempts have left the same behind.
  const [left = ''] = scratches();
  for (let times = 0; times < 3; times++)
    mkdirSync(join(stateDir, left.replace(/[\da-f-]{36}(?=\.scratch)/, randomUUID())));
  await killOnce(4);
  const refused = startCommand(args, { cwd: folder.dir, env });
  expect(await refused.ended).toBe(2);
  expect(refused.err()).toMatch(/^Reading .*x\.duckdb ended its process 5 times within an hour/);
  expect(scratches()).toEqual([]);
});
