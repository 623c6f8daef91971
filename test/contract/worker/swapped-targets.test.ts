import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { FileSecrets } from '../../../src/store/process/file-secrets.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { Allowlist } from '../../../src/worker/config/allowlist.js';
import { whyUnwritable } from '../../../src/worker/config/warehouse-setting.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { whole } from '../../support/publish/publish-from.js';
import { isLong } from '../../support/tier.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const at = (...names: string[]) => join(dir, 'open', ...names);
const closed = (...names: string[]) => join(dir, 'closed', ...names);
const allowlist = new Allowlist(
  { paths: [at()], hosts: [], stateDir: join(dir, 'state'), warehouse: null },
  { allowed: async () => [] },
);
const check = (names: Parameters<Allowlist['check']>[0]) => allowlist.check(names);
const warehouse = openWarehouse(join(dir, 'source.duckdb'), {
  check: async (names) => (names.into ? undefined : check(names)),
});

/** A data file of a publish, by its name, in the place where a swapped folder of a table leads. */
const DATA = '20260101T000000Z-00000000-00000.parquet';

/** Every file and folder outside of the paths, with its contents. */
const outside = () =>
  readdirSync(closed(), { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { mode, ino } = lstatSync(closed(name));
      return [
        name,
        mode,
        ino,
        lstatSync(closed(name)).isFile() ? readFileSync(closed(name), 'latin1').slice(0, 100) : '',
      ];
    });
let before: ReturnType<typeof outside> = [];

async function database(path: string): Promise<void> {
  await runInDuckDb(path, 'CREATE TABLE theirs AS SELECT 1 AS one');
}

let swapper: ChildProcess;
const isGood = (...names: string[]) => lstatSync(at(...names), { throwIfNoEntry: false })?.isDirectory() ?? false;
/** Stops the swaps at a moment when each name leads to its good file or folder. */
async function calm(): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    swapper.kill('SIGSTOP');
    await delay(5);
    // A publish may have removed the empty folder of a table.
    if (!lstatSync(at('lake', 'brands'), { throwIfNoEntry: false })) mkdirSync(at('lake', 'brands'));
    if (isGood('real') && isGood('lake', 'brands') && existsSync(at('folder', 'a.duckdb.good'))) return;
    swapper.kill('SIGCONT');
    await delay(1);
  }
  throw new Error('The swaps never rest');
}
beforeAll(async () => {
  for (const folder of [at('real'), at('inner'), at('lake', 'brands'), closed()])
    mkdirSync(folder, { recursive: true });
  placeEmptyWarehouse(join(dir, 'source.duckdb'));
  await runJob(dir, warehouse.rows, await stageText(dir, 'name,url\na,https://a.com/\n'), new Service());
  for (const file of [at('inner', 'a.duckdb'), closed('a.duckdb')]) await database(file);
  for (const name of ['a.csv', 'manifest.json', DATA]) writeFileSync(closed(name), 'untouched');
  linkSync(at('inner', 'a.duckdb'), at('a.duckdb'));
  symlinkSync(at('inner'), at('folder'));
  writeFileSync(at('inner', 'a.duckdb.good'), '');
  before = outside();
  const swaps = [
    { name: at('a.duckdb'), good: at('inner', 'a.duckdb'), bad: closed('a.duckdb'), hard: true },
    { name: at('folder'), good: at('inner'), bad: closed(), hard: false },
    { name: at('real'), good: null, bad: closed() },
    { name: at('lake', 'brands'), good: null, bad: closed() },
  ];
  const script = new URL('../../support/worker/link-swapper.mjs', import.meta.url).pathname;
  swapper = spawn(process.execPath, [script, JSON.stringify(swaps), '150'], { stdio: 'inherit' });
});
afterAll(async () => {
  swapper.kill('SIGKILL');
  await warehouse.close();
});

/** Tries of a test; `SWAP_TRIES` sets more, such as 10,000. */
const TRIES = Number(process.env.SWAP_TRIES || (isLong ? 10 : 3));

const publish = (to: string, how = {}) => warehouse.publisher.publish({ ...whole, ...how, to });
const merge = { mode: 'merge', key: ['name'] };
let made = 0;

const doors: readonly (readonly [door: string, write: () => Promise<unknown>])[] = [
  ['a publish into a folder whose moved parent', () => publish(at('real', 'lake'))],
  ['a publish into a folder whose parent link', () => publish(at('folder', 'lake'))],
  ['a publish into a new folder whose moved grandparent', () => publish(at('real', `${++made}`, 'lake'))],
  ['a publish into a folder whose folder of a table', () => publish(at('lake'))],
  ['a merge into a folder whose folder of a table', () => publish(at('lake'), merge)],
  ['a publish into a new DuckDB file whose moved folder', () => publish(at('real', `new-${++made}.duckdb`))],
  ['a publish into a DuckDB file whose moved folder', () => publish(at('real', 'b.duckdb'))],
  ['a publish into a DuckDB file whose name', () => publish(at('a.duckdb'))],
  ['a CSV whose moved folder', () => warehouse.rows.exportCsv('brands-1', at('real', 'a.csv'))],
  ['Parquet files whose moved folder', () => warehouse.rows.exportParquet('brands-1', at('real', 'parquet'))],
  [
    'a secret file whose moved folder',
    async () => {
      const secrets = new FileSecrets(at('real', `sub-${++made}`, 'secrets.json'));
      await check({ secretFile: secrets.file });
      await secrets.put('a', new Secret('b'));
    },
  ],
  [
    'a new warehouse whose moved folder',
    async () => {
      const into = at('real', `into-${++made}.duckdb`);
      expect(await whyUnwritable(into)).toBeNull();
      const opened = openWarehouse(into, { check });
      await opened.rows.make().finally(() => opened.close());
    },
  ],
];

it.runIf(process.platform === 'linux').each(doors)(
  '%s is swapped meanwhile writes nothing elsewhere',
  { timeout: 60_000 + TRIES * 1000 },
  async (_, write) => {
    swapper.kill('SIGCONT');
    for (let turn = 0; turn < TRIES; turn++) {
      // A try that begins at a bad name ends at the check.
      while (!isGood('real')) await delay(1);
      await write().catch(() => undefined);
    }
    await calm();
    expect(outside()).toEqual(before);
    for (const draft of readdirSync(at('lake')).filter((name) => name !== 'brands'))
      rmSync(at('lake', draft), { recursive: true });
    await write();
    expect(outside()).toEqual(before);
  },
);
