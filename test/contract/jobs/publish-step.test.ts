import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { allowedBy } from '../../../dist/worker/config/allowlist.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { folderOfTest } from '../../support/files/folders.js';
import { Folder } from '../../support/jobs/folder.js';
import { settingOfFile } from '../../support/jobs/setting.js';
import { sharedPostgres } from '../../support/postgres.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const file = settingOfFile({ config: { paths: [tmpdir()], hosts: ['s3://mine'] } });

const { freshRows } = file;
/** The path of a target that does not exist; the target is removed after the test. */
function newTarget(): string {
  const folder = folderOfTest();
  return join(folder, 'lake');
}
const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
const publishes = async (into: string) => {
  const runs = await readDuckDb(into, 'SELECT published::VARCHAR AS published FROM searchflow_runs ORDER BY ended_at');
  return runs.map(({ published }) => published && JSON.parse(published as string));
};

it('the last step of a run publishes the view of the job, and the run records it', async () => {
  const target = newTarget();
  const publish = { to: target, key: ['id'] };
  const rows = freshRows(21);
  const job = await file.setting.begin(rows.slice(0, 20), { publish });
  const { published, phase } = await job.result();
  expect({ published, phase }).toMatchObject({
    ...{ phase: 'done', published: { to: target, error: null, rows: 20, changed: true } },
  });
  expect(await publishes(job.folder.into)).toEqual([published]);
  const [table] = manifestOf(target).tables;
  expect(table).toMatchObject({ name: 'rows', rows: 20, mode: 'merge', run: job.handle.firstExecutionRunId });
  // The next run publishes again, and its row replaces the row of the same key.
  job.folder.write(rows);
  expect(await (await job.again()).result()).toMatchObject({ requests: 1, published: { rows: 21 } });
  expect(manifestOf(target).tables[0]).toMatchObject({ rows: 21 });
});

it('a run whose publish fails ends as stopped, and its rows are loaded', async () => {
  const target = newTarget();
  mkdirSync(target);
  writeFileSync(join(target, 'a.txt'), 'a file of another program');
  const job = await file.setting.begin(freshRows(10), { publish: { to: target }, scheduled: true });
  const summary = await job.result();
  expect(summary).toMatchObject({ phase: 'stopped', warehouse: { success: 10 }, published: { publish: null } });
  expect(summary.message).toMatch(/^All rows are loaded, but not published to .*\. Fix this; the next run publishes/);
  expect(await publishes(job.folder.into)).toEqual([summary.published]);
});

it('a command checks its target before it buys: a folder of others, a refused login, a missing extension', async () => {
  const folder = Folder.ofTest();
  folder.write(freshRows(2));
  const runtime = await openRuntime(folder.config(file.setting.sandbox.url));
  onTestFinished(() => runtime.close('drain'));
  const check = async (to: string) => {
    const sizes = { options: {}, batch: 20, retryFailed: false, rebuy: false };
    const named = { input: folder.input, urlColumn: null, delimiter: null, job: null, into: folder.into, csv: null };
    await runtime.rows.checkPublish(await (await runtime.work()).plan({ ...named, ...sizes, publish: { to } }));
  };
  const target = newTarget();
  await check(target);
  mkdirSync(target);
  writeFileSync(join(target, 'a.txt'), 'a file of another program');
  await expect(check(target)).rejects.toThrow(
    `--publish: ${target} has files that are not of a publish (a.txt) and no manifest.json: name an empty or a new folder. Nothing was bought.`,
  );
  const database = Object.assign(new URL(await sharedPostgres().database()), { username: 'nobody', password: '' });
  await expect(check(database.href)).rejects.toThrow(/^--publish: The database .* refused: .*Nothing was bought\.$/);
  await expect(check(`ducklake:${target}.ducklake`)).rejects.toThrow("needs DuckDB's extension ducklake");
});

it('a run that stops early publishes nothing', async () => {
  const target = newTarget();
  const changes = { batch: 1, scheduled: true, stopAtFailed: { percent: 10, after: 5 }, publish: { to: target } };
  const job = await file.setting.begin(freshRows(40), changes, [
    { when: { every: 2 }, do: { kind: 'results', change: 'lose' } },
  ]);
  const summary = await job.result();
  expect(summary).toMatchObject({ phase: 'stopped', stoppedFor: 'failed' });
  expect(summary).not.toHaveProperty('published');
  expect(() => manifestOf(target)).toThrow('ENOENT');
});

it.each([
  ['a folder outside of paths', { to: '/usr/lake' }, /publish: workflows of this worker may not use \/usr\/lake/],
  ['a database outside of hosts', { to: 'postgres://db.example/x' }, /may not connect to db\.example:5432/],
  ['a bucket outside of hosts', { to: 's3://other/lake' }, /may not write to s3:\/\/other\. To allow it, add s3:/],
  [
    'the endpoint of another service',
    { to: 's3://mine/lake?endpoint=evil.example' },
    /may not write to s3:\/\/mine\?endpoint=evil\.example/,
  ],
  ['a bucket without the extension', { to: 's3://mine/lake' }, /needs DuckDB's extension httpfs/],
  ['an unknown key', { to: join(tmpdir(), 'lake'), key: ['nope'] }, /has no column "nope" for the key/],
])('%s is refused before anything is bought', async (_, publish, message) => {
  const job = await file.setting.begin(freshRows(3), { publish });
  const failure = await job.result().then(
    () => null,
    (error: Error) => error.cause as Error,
  );
  expect(failure?.message).toMatch(message);
  expect(file.setting.sandbox.log()).toEqual([]);
});

it('a target that a person typed is allowed for publishes only', () => {
  expect(allowedBy({ publish: 's3://b/prefix?region=eu' })).toEqual([{ field: 'publish', what: 's3://b', host: null }]);
  expect(allowedBy({ publish: 'postgres://u@db.example/x' })).toEqual([
    { field: 'publish', what: 'db.example:5432', host: null },
  ]);
  expect(allowedBy({ publish: 'ducklake:/data/c.ducklake' })).toMatchObject([
    { field: 'publish', what: '/data/c.ducklake' },
  ]);
  expect(allowedBy({ publish: 'gs://b' })).toEqual([]);
});
