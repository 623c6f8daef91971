import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { sliceFile } from '../../../src/rows/index.js';
import { PgJobEntries } from '../../../src/store/postgres/pg-job-entries.js';
import { PgStages } from '../../../src/store/postgres/pg-stages.js';
import { storeAddress } from '../../../src/worker/config/database-setting.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { openStore } from '../../../src/worker/store/open-store.js';
import { otherLimitsText } from '../../../src/worker/store/team.js';
import { folderOfFile } from '../../support/files/folders.js';
import { jobEntry } from '../../support/jobs/job-entry.js';
import { ofFile } from '../../support/of-file.js';
import { startPgStores } from '../../support/store/pg-store.js';

const root = folderOfFile();
const locks = join(root, 'owners');
const stores = ofFile(startPgStores);
let count = 0;
const newDir = () => join(root, String(++count));

/** Makes a folder with the files of slices, as staging would write it. */
function stage(generation: string, slices: number) {
  const stageDir = join(newDir(), generation);
  mkdirSync(stageDir, { recursive: true });
  for (let slice = 0; slice < slices; slice++) {
    writeFileSync(sliceFile(stageDir, slice), gzipSync(`{"n":${slice},"u":"\\u0000"}\n`));
  }
  return { job: 'brands-1', generation, slices, stageDir };
}

it('workers of one service and task queue whose key has its own limit know each other, as long as they live', async () => {
  const dir = newDir();
  const store = storeAddress(stores.url());
  const worker = async (key: string, changes: Partial<RuntimeConfig> = {}) => {
    const config = {
      ...{ service: 'live', origin: 'https://api.example.com', baseUrl: 'https://api.example.com', team: null },
      ...{ apiKey: new Secret(key), stateDir: dir, userStateDir: dir, store, taskQueue: 'rows' },
      ...{ rate: { qps: 10 }, say: () => undefined },
      ...changes,
    };
    const opened = await openStore(config as RuntimeConfig);
    await opened.work();
    return opened;
  };
  const others = async (one: Awaited<ReturnType<typeof worker>>) => (await one.otherLimits()).length;
  const one = await worker('one');
  const beside = [
    await worker('one'),
    await worker('two', { taskQueue: 'another' }),
    await worker('two', { origin: 'https://api.elsewhere.example' }),
  ];
  expect(await others(one)).toBe(0);
  const two = await worker('two');
  expect(await one.otherLimits()).toEqual([{ host: hostname(), pid: process.pid }]);
  expect([await others(two), await others(beside[0] as typeof one)]).toEqual([2, 1]);
  const teams = [await worker('three', { team: 'etl' }), await worker('four', { team: 'etl' })];
  expect(await others(teams[0] as typeof one)).toBe(3);
  for (const closed of [two, ...teams]) await closed.close();
  expect(await others(one)).toBe(0);
  const servedFor = (origin: string, host = hostname()) => one.servedElsewhere({ origin, host });
  const elsewhere = 'https://api.elsewhere.example';
  expect(await Promise.all([servedFor(elsewhere), servedFor(elsewhere, 'another-machine')])).toEqual([true, false]);
  expect(await Promise.all([servedFor('sandbox'), servedFor('https://elsewhere.example')])).toEqual([false, false]);
  expect(otherLimitsText([])).toBeNull();
  expect(otherLimitsText([{ host: 'a', pid: 5 }])).toMatch(/another key .*\(PID 5 on a\).*SEARCHFLOW_TEAM/);
  for (const closed of [one, ...beside]) await closed.close();
});

describe('staged rows in a store', () => {
  async function machines() {
    const url = stores.url();
    const one = new PgStages(await stores.connect(url), { cacheDir: newDir(), sliceFile });
    const cacheDir = newDir();
    const other = new PgStages(await stores.connect(url), { cacheDir, sliceFile });
    return { one, other, cacheDir };
  }

  it('are copied to a machine that has not staged them, unchanged, once', async () => {
    const { one, other, cacheDir } = await machines();
    const staged = stage('gen', 3);
    await one.share(staged);
    await one.share(staged);
    expect(await one.slice(staged, 2)).toBe(sliceFile(staged.stageDir, 2));
    const elsewhere = { ...staged, stageDir: '/nowhere' };
    const [path] = await Promise.all([other.slice(elsewhere, 2), other.slice(elsewhere, 2)]);
    expect(path).toBe(sliceFile(join(cacheDir, 'brands-1', 'gen'), 2));
    expect(gunzipSync(readFileSync(path))).toEqual(gunzipSync(readFileSync(sliceFile(staged.stageDir, 2))));
    expect(readdirSync(join(cacheDir, 'brands-1', 'gen'))).toEqual(['000002.jsonl.gz']);
  });

  it('are shared again after a process was killed while sharing them', async () => {
    const { one, other } = await machines();
    const staged = stage('gen', 3);
    const kept = readFileSync(sliceFile(staged.stageDir, 2));
    rmSync(sliceFile(staged.stageDir, 2));
    await expect(one.share(staged)).rejects.toThrow();
    writeFileSync(sliceFile(staged.stageDir, 2), kept);
    await one.share(staged);
    const paths = [0, 1, 2].map((slice) => other.slice({ ...staged, stageDir: '/nowhere' }, slice));
    for (const path of await Promise.all(paths)) expect(existsSync(path)).toBe(true);
  });

  it('are removed except for the newest generations, and the error names the remedy', async () => {
    const { one, other, cacheDir } = await machines();
    const all = Array.from({ length: 6 }, (_, index) => stage(`gen${index}`, 1));
    for (const staged of all) {
      await one.share(staged);
      await other.slice({ ...staged, stageDir: '/nowhere' }, 0);
    }
    expect(readdirSync(join(cacheDir, 'brands-1')).length).toBeLessThanOrEqual(4);
    rmSync(cacheDir, { recursive: true });
    await expect(other.slice({ ...all[0]!, stageDir: '/nowhere' }, 0)).rejects.toThrow(
      "The store has no slice 0 of the staged rows of brands-1. Run the job's command again to stage them",
    );
    await other.slice({ ...all[5]!, stageDir: '/nowhere' }, 0);
  });

  it('of one job are removed at once on request, with their copies here', async () => {
    const { one, other, cacheDir } = await machines();
    const staged = stage('gen', 2);
    await one.share(staged);
    await other.slice({ ...staged, stageDir: '/nowhere' }, 0);
    const later = Date.now() + 60_000;
    expect(await other.forget(staged, Date.now() - 60_000, false)).toBe(0);
    expect(await other.forget({ job: 'another-1' }, later, false)).toBe(0);
    const bytes = await other.forget(staged, later, true);
    expect(bytes).toBeGreaterThan(60);
    expect(existsSync(join(cacheDir, 'brands-1'))).toBe(true);
    expect(await other.forget(staged, later, false)).toBe(bytes);
    expect(existsSync(join(cacheDir, 'brands-1'))).toBe(false);
    await expect(other.slice({ ...staged, stageDir: '/nowhere' }, 0)).rejects.toThrow('The store has no slice 0');
    await one.share(staged);
    expect(existsSync(await other.slice({ ...staged, stageDir: '/nowhere' }, 0))).toBe(true);
  });

  it('are kept while runs use them, however old they are', async () => {
    const { one, other } = await machines();
    const first = stage('first', 1);
    await one.share(first);
    for (const generation of ['b', 'c', 'd']) await one.share(stage(generation, 1));
    await one.share(first);
    await one.share(stage('e', 1));
    const elsewhere = (generation: string) => other.slice({ ...first, generation, stageDir: '/nowhere' }, 0);
    expect(await elsewhere('first')).toContain('first');
    await expect(elsewhere('b')).rejects.toThrow('The store has no slice 0');
  });

  it('are never written outside their folder', async () => {
    const { other } = await machines();
    const staged = { job: '../../x', generation: 'gen', slices: 1, stageDir: '/nowhere' };
    await expect(other.slice(staged, 0)).rejects.toThrow('is not a valid id');
  });
});

describe('job entries in a store', () => {
  const staged = { name: 'brands', input: '/in.csv', columns: ['url', 'odd \u0000 name'], options: { text: true } };
  const entry = (job: string, csv: string | null = null) => jobEntry(job, staged, { csv });

  it('are visible to every process in their last version, the least recently used first', async () => {
    const url = stores.url();
    const one = new PgJobEntries(await stores.connect(url), locks);
    const other = new PgJobEntries(await stores.connect(url), locks);
    expect(await other.get('a-1')).toBeNull();
    await one.put(entry('a-1'));
    await one.put(entry('b-2'));
    await one.put(entry('a-1', '/out.csv'));
    expect(await other.get('a-1')).toEqual(entry('a-1', '/out.csv'));
    expect(await other.all()).toEqual([entry('b-2'), entry('a-1', '/out.csv')]);
  });

  it('are kept apart from walks, which are visible in the same way', async () => {
    const entries = new PgJobEntries(await stores.connect(stores.url()), locks);
    const before = await entries.all();
    const walk = (job: string, into: string) => ({
      job,
      workflowId: `searchflow-${job}`,
      ...{ origin: 'sandbox', stream: 'sync', into },
    });
    await entries.putWalk(walk('events-sync-1', 'a.duckdb'));
    await entries.putWalk(walk('events-sync-2', 'b.duckdb'));
    await entries.putWalk(walk('events-sync-1', 'c.duckdb'));
    expect(await entries.walks()).toEqual([walk('events-sync-2', 'b.duckdb'), walk('events-sync-1', 'c.duckdb')]);
    expect([await entries.get('events-sync-1'), await entries.all()]).toEqual([null, before]);
  });
});
