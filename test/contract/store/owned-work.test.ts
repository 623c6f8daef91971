import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { OwnedWork } from '../../../src/core/job-entry-schemas.js';
import type { JobEntries, OwnerFacts } from '../../../src/core/rows/job-entries.js';
import { identifier } from '../../../src/postgres/index.js';
import { PgJobEntries } from '../../../src/store/postgres/pg-job-entries.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { WorkOwners } from '../../../src/worker/control/work-owners.js';
import { findJob } from '../../../src/worker/staging/find-job.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import type { Store } from '../../../src/worker/store/store.js';
import { folderOfFile } from '../../support/files/folders.js';
import { jobEntry } from '../../support/jobs/job-entry.js';
import { ofFile } from '../../support/of-file.js';
import { startPgStores } from '../../support/store/pg-store.js';

const root = folderOfFile();
const stores = ofFile(startPgStores);

type Process = JobEntries & { close(): void };

/** The printed reports about damaged entries. */
let said: string[] = [];
const say = (sentence: string): void => void said.push(sentence);

let count = 0;
/** For each kind of store, a function that makes processes which share one folder or one store. */
const kinds: Record<string, () => (machine?: string) => Promise<Process>> = {
  folder: () => {
    const dir = join(root, String(++count), 'jobs');
    return async () => new FolderJobs(dir, say);
  },
  PostgreSQL: () => {
    const url = stores.url();
    const locks = join(root, String(++count));
    return async (machine = 'here') => new PgJobEntries(await stores.connect(url), join(locks, machine), say);
  },
};

const entry = (job: string, input: string) => jobEntry(job, { input });

/** Adds a process to the owners of a workflow, after the existing owners. */
const joined = (one: Process, workflowId = 'w') =>
  one.claim(workflowId, ({ owned }) => ({
    owned: { workflowId, job: 'x', owners: [...(owned?.owners ?? []), one.owner()] } as OwnedWork,
  }));

/** The owners of work as a command of this process sees them; every workflow is running. */
function commandOf(entries: Process): WorkOwners {
  const workflow = { getHandle: () => ({ describe: async () => ({ status: { name: 'RUNNING' } }) }) };
  const config = { say: () => undefined } as unknown as RuntimeConfig;
  const store = { entries, shared: false } as unknown as Store;
  return new WorkOwners(config, store, async () => ({ workflow }) as unknown as Client);
}

describe.each(Object.keys(kinds))('work that commands own, in a %s', (kind) => {
  const open = () => (kinds[kind] as (typeof kinds)[string])();

  it('is kept beside the paths that people typed, each once, for every process', async () => {
    const process = open();
    const [one, two] = [await process(), await process()];
    const file = { field: 'into', what: '/data/x.duckdb', host: 'here' };
    const server = { field: 'into', what: 'db.internal:5432', host: null };
    expect(await one.allowed()).toEqual([]);
    await one.allow([file]);
    await Promise.all([two.allow([server, file]), one.allow([{ ...file, field: 'csv' }])]);
    const all = [...(await two.allowed())].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    expect(all).toHaveLength(3);
    expect(all).toEqual(expect.arrayContaining([file, server, { ...file, field: 'csv' }]));
    one.close();
    two.close();
  });

  it('is unfinished only in the entries whose state says so', async () => {
    const one = await open()();
    // A text of a person looks like the state of a paused job.
    const stopped = { phase: 'stopped', since: 1 } as const;
    await one.put({ ...entry('stopped', '/a'), csv: '{"phase":"paused"}', state: stopped });
    await one.put({ ...entry('paused', '/b'), state: { phase: 'paused', reason: 'credits', since: 1 } });
    await one.put(entry('running', '/c'));
    expect((await one.unfinished()).map(({ staged, state }) => [staged.job, state.phase]).sort()).toEqual([
      ['paused', 'paused'],
      ['running', 'running'],
    ]);
    for (const job of ['paused', 'running']) await one.put({ ...entry(job, '/b'), state: stopped });
    expect(await one.unfinished()).toEqual([]);
    one.close();
  });

  it('fault 63: is visible to every process with its living owners, in the order of their claims', async () => {
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

  it('fault 63: stays with its owner when a watching command ends, and passes to a watcher when its owner leaves', async () => {
    const process = open();
    const [one, two, three] = [await process(), await process(), await process()];
    const [owner, watcher, successor] = [commandOf(one), commandOf(two), commandOf(three)];
    const work = { workflowId: 'w', job: 'x' };
    const claim = async (command: WorkOwners) => (await command.claim(work, () => ({}))).owner;
    expect(await claim(owner)).toBeNull();
    expect(await claim(watcher)).toEqual(one.owner());
    expect(await claim(successor)).toEqual(one.owner());
    await watcher.close();
    expect(await owner.owned()).toMatchObject([work]);
    expect(await successor.owned()).toEqual([]);
    await owner.release('w');
    expect(await successor.owned()).toMatchObject([work]);
    await successor.release('w');
    expect(await one.owned()).toEqual([]);
    for (const each of [one, two, three]) each.close();
  });

  it('fault 61: processes that claim at once each see the claims before, with the entry of the job', async () => {
    const process = open();
    const all = await Promise.all(Array.from({ length: 5 }, () => process()));
    const take = (one: Process, nth: number) => {
      const refuse = ({ jobs }: OwnerFacts) => {
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

it('fault 63: an owner on another machine lives as long as its process reports to the store', async () => {
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

describe('a damaged entry', () => {
  const walk = (job: string) => ({ job, workflowId: job, origin: 'sandbox', stream: 'sync', into: '/x.duckdb' });
  const dir = join(root, 'damaged', 'jobs');
  const url = () => stores.url();

  /** Entries of a folder or a store, and a way to damage the job `bad` and the walk `lost` in it. */
  const cases: Record<string, () => Promise<{ jobs: Process; damage(job: string, walk: string): Promise<void> }>> = {
    folder: async () => ({
      jobs: new FolderJobs(dir, say),
      damage: async (job, text) => {
        writeFileSync(join(dir, 'bad.json'), job);
        const [file = ''] = readdirSync(join(dir, 'walks')).filter((name) =>
          readFileSync(join(dir, 'walks', name), 'utf8').includes('"lost"'),
        );
        writeFileSync(join(dir, 'walks', file), text);
      },
    }),
    PostgreSQL: async () => {
      const postgres = await stores.connect(url());
      const schema = identifier(postgres.address.schema);
      return {
        jobs: new PgJobEntries(postgres, join(root, 'damaged-locks'), say),
        damage: async (job, text) => {
          await postgres.query(`UPDATE ${schema}.jobs SET entry = $1 WHERE job = 'bad'`, [job]);
          await postgres.query(`UPDATE ${schema}.walks SET entry = $1 WHERE job = 'lost'`, [text]);
        },
      };
    },
  };

  it.each([
    ['folder', '{"staged": 5', '{"into": 5}'],
    ['folder', '', 'not JSON'],
    ['PostgreSQL', '{"staged": 5', '{"into": 5}'],
    ['PostgreSQL', '', '5'],
  ])('of a %s leaves the others listed and claimed, and is reported once with the remedy', async (kind, job, text) => {
    said = [];
    const { jobs, damage } = await (cases[kind] as (typeof cases)[string])();
    for (const name of ['good', 'bad']) await jobs.put(entry(name, `/${name}.csv`));
    for (const name of ['found', 'lost']) await jobs.putWalk(walk(name));
    await damage(job, text);
    for (let nth = 0; nth < 2; nth++) {
      expect((await jobs.all()).map(({ staged }) => staged.job)).toEqual(['good']);
      expect((await jobs.walks()).map((one) => one.job)).toEqual(['found']);
    }
    const take = (name: string) => ({ owned: null, entry: { job: name, now: entry(name, '/new.csv') } });
    await jobs.claim('searchflow-good', ({ jobs: all }) => {
      expect(all.map(({ staged }) => staged.job)).toEqual(['good']);
      return take('good');
    });
    expect(said).toEqual([
      expect.stringMatching(/bad.* is damaged\. Remove it.* and run the job's command again/),
      expect.stringMatching(/ is damaged\. Remove it.*; the next run of its events command writes it again\./),
    ]);
    // A command about the damaged job itself fails, because the content of the entry is unknown.
    await expect(findJob(jobs, 'bad')).rejects.toThrow(/bad.* is damaged/);
    await expect(jobs.claim('searchflow-bad', () => take('bad'))).rejects.toThrow(/bad.* is damaged/);
    await expect(findJob(jobs, 'nothing')).rejects.toThrow(/There is no job nothing here\. Jobs: good/);
    await jobs.putWalk(walk('lost'));
    expect((await jobs.walks()).map((one) => one.job)).toEqual(['found', 'lost']);
    jobs.close();
  });
});
