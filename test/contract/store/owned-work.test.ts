import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Claim, JobEntries, JobEntry, OwnedWork } from '../../../src/core/job-entries.js';
import { PgJobEntries } from '../../../src/store/postgres/pg-job-entries.js';
import { FolderJobs } from '../../../src/worker/folder-jobs.js';
import type { RuntimeConfig } from '../../../src/worker/runtime-types.js';
import type { Store } from '../../../src/worker/store.js';
import { WorkOwners } from '../../../src/worker/work-owners.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

const root = mkdtempSync(join(tmpdir(), 'searchflow-owned-'));
let stores: PgStores;
beforeAll(async () => {
  stores = await startPgStores();
});
afterAll(async () => {
  await stores.stop();
  rmSync(root, { recursive: true, force: true });
});

type Process = JobEntries & { close(): void };

let count = 0;
/** As many processes as are asked for, of one folder or one store. */
const kinds: Record<string, () => (machine?: string) => Promise<Process>> = {
  folder: () => {
    const dir = join(root, String(++count), 'jobs');
    return async () => new FolderJobs(dir);
  },
  PostgreSQL: () => {
    const url = stores.url();
    const locks = join(root, String(++count));
    return async (machine = 'here') => new PgJobEntries(await stores.connect(url), join(locks, machine));
  },
};

const entry = (job: string, input: string): JobEntry => ({
  staged: {
    ...{ job, name: 'x', origin: 'sandbox', operation: 'contents', input, into: '/x.duckdb', generation: 'g' },
    ...{ columns: ['url'], unitColumn: 'url', options: {}, batch: 100 },
    ...{ rows: 1, badRows: 0, distinctUnits: 1, slices: 1, rowsPerSlice: 1, window: 3, stageDir: '/stage' },
  },
  named: true,
  csv: null,
  completed: null,
});

/** Puts a process behind those that are there. */
const joined = (one: Process, workflowId = 'w') =>
  one.claim(workflowId, ({ owned }) => ({
    owned: { workflowId, job: 'x', owners: [...(owned?.owners ?? []), one.owner()] } as OwnedWork,
  }));

/** A command of such a process; every workflow goes on. */
function commandOf(entries: Process): WorkOwners {
  const workflow = { getHandle: () => ({ describe: async () => ({ status: { name: 'RUNNING' } }) }) };
  const config = { say: () => undefined } as unknown as RuntimeConfig;
  const store = { entries, shared: false } as unknown as Store;
  return new WorkOwners(config, store, async () => ({ workflow }) as unknown as Client);
}

describe.each(Object.keys(kinds))('work that commands own, in a %s', (kind) => {
  const open = () => (kinds[kind] as (typeof kinds)[string])();

  it('fault 63: is seen by every process with its living owners, in the order they came', async () => {
    const process = open();
    const [one, two, other] = [await process(), await process(), await process()];
    await joined(one);
    await joined(two);
    expect(await other.owned()).toMatchObject([{ workflowId: 'w', living: [one.owner(), two.owner()] }]);
    const first = one.owner();
    one.close();
    expect(await other.owned()).toMatchObject([{ owners: [first, two.owner()], living: [two.owner()] }]);
    await other.claim('w', () => ({ owned: null }));
    expect(await two.owned()).toEqual([]);
    two.close();
  });

  it('fault 63: stays its owner’s when a command that watched it ends, and passes to one that watches when its owner leaves', async () => {
    const process = open();
    const [one, two, three] = [await process(), await process(), await process()];
    const [owner, watcher, heir] = [commandOf(one), commandOf(two), commandOf(three)];
    const work = { workflowId: 'w', job: 'x' };
    const claim = async (command: WorkOwners) => (await command.claim(work, () => ({}))).owner;
    expect(await claim(owner)).toBeNull();
    expect(await claim(watcher)).toEqual(one.owner());
    expect(await claim(heir)).toEqual(one.owner());
    await watcher.close();
    expect(await owner.owned()).toMatchObject([work]);
    expect(await heir.owned()).toEqual([]);
    await owner.release('w');
    expect(await heir.owned()).toMatchObject([work]);
    await heir.release('w');
    expect(await one.owned()).toEqual([]);
    for (const each of [one, two, three]) each.close();
  });

  it('fault 61: of processes that claim at once each sees what the one before wrote, with the entry of its job', async () => {
    const process = open();
    const all = await Promise.all(Array.from({ length: 5 }, () => process()));
    const take = (one: Process, nth: number) => {
      const refuse = ({ jobs }: Claim) => {
        if (jobs.length > 0) throw new Error(`it is of ${jobs[0]?.staged.input}`);
        return { owned: null, entry: { job: 'x-1', now: entry('x-1', `/${nth}.csv`) } };
      };
      return one.claim('searchflow-x-1', refuse);
    };
    const results = await Promise.allSettled(all.map(take));
    const won = results.findIndex(({ status }) => status === 'fulfilled');
    const lost = results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));
    expect(lost).toEqual(Array(4).fill(`it is of /${won}.csv`));
    const [any] = all as [Process];
    expect(await any.get('x-1')).toEqual(entry('x-1', `/${won}.csv`));
    await any.claim('searchflow-x-1', () => ({ owned: null, entry: { job: 'x-1', now: null } }));
    expect(await any.get('x-1')).toBeNull();
  });
});

it('fault 63: an owner on another machine lives as long as the store hears of its process', async () => {
  const url = stores.url();
  const [one, other] = [
    new PgJobEntries(await stores.connect(url), join(root, 'there')),
    new PgJobEntries(await stores.connect(url), join(root, 'here')),
  ];
  await joined(one);
  expect(await other.owned()).toMatchObject([{ owners: [one.owner()], living: [] }]);
  await stores.journal(url);
  expect(await other.owned()).toMatchObject([{ living: [one.owner()] }]);
  one.close();
});
