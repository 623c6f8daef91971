import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WalkEntry } from '../../../src/core/job-entry-schemas.js';
import { entryAfter } from '../../../src/core/rows/job-entries.js';
import { noteOpened } from '../../../src/worker/staging/find-job.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import { folderOfFile } from '../../support/files/folders.js';
import { jobEntry } from '../../support/jobs/job-entry.js';

const dir = folderOfFile();

const entry = (job: string) =>
  jobEntry(
    job,
    {
      ...{ operation: 'agent', columns: ['name'], unitColumn: null, options: { effort: 'low' }, batch: 1 },
      ...{ template: { query: '{{name}}' }, rows: 9, badRows: 1, distinctUnits: 8, rowsPerSlice: 25 },
      ...{ rowsPerRun: 3, limit: 5, host: 'here' },
    },
    {
      ...{ csv: '/x-out.csv', workflowId: "sdk's run", schedule: 'daily' },
      state: {
        ...{ phase: 'paused', reason: 'budget', message: 'The budget is spent', since: 1_700_000_000_000 },
        counts: { rows: 9, success: 1, error: 0, invalid: 0, missing: 8, vanished: 0, tags: {} },
      },
      asked: { maxCostDollars: 'none', maxRunSeconds: 60, skipRefused: true, freshness: { freshAfter: 5 } },
    },
  );
const walk: WalkEntry = {
  ...{ job: 'events-sync-1', workflowId: 'w', origin: 'sandbox', stream: 'sync', into: '/e.duckdb', host: 'here' },
};

it('a stored job and a stored walk are read as they were written, with fields of later versions', async () => {
  const jobs = new FolderJobs(join(dir, 'whole'));
  const later = { ...entry('later'), staged: { ...entry('later').staged, novel: 1 } };
  for (const one of [entry('good'), later]) await jobs.put(one);
  await jobs.putWalk(walk);
  expect(await jobs.all()).toEqual([entry('good'), later]);
  expect(await jobs.walks()).toEqual([walk]);
});

it.each<readonly [path: string, value: unknown]>([
  ['state.message', 5],
  ['state.message', { text: 'x' }],
  ['state.phase', 'finished'],
  ['state.phase', 'toString'],
  ['state.since', 1e300],
  ['state.reason', 'mood'],
  ['staged.rows', '9'],
  ['staged.badRows', null],
  ['staged.limit', '5'],
  ['staged.columns', 'name'],
  ['staged.host', 5],
  ['staged.job', '../x'],
  ['staged.operation', undefined],
  ['asked.maxCostDollars', '20'],
  ['asked.freshness', { retryTags: 'TIMEOUT' }],
  ['workflowId', 5],
])('a stored job whose %s is %j is named and left out, and the others are listed', async (path, value) => {
  const said: string[] = [];
  const folder = mkdtempSync(join(dir, 'jobs-'));
  const jobs = new FolderJobs(folder, (sentence) => said.push(sentence));
  for (const name of ['bad', 'good']) await jobs.put(entry(name));
  const file = join(folder, 'bad.json');
  const stored = JSON.parse(readFileSync(file, 'utf8'));
  const [group = '', field] = path.split('.');
  Object.assign(field === undefined ? stored : stored[group], { [field ?? group]: value });
  writeFileSync(file, JSON.stringify(stored));
  for (let nth = 0; nth < 2; nth++) expect((await jobs.all()).map(({ staged }) => staged.job)).toEqual(['good']);
  expect(said).toEqual([`${file} is damaged. Remove it and run the job's command again (nothing is bought twice).`]);
  await expect(jobs.get('bad')).rejects.toThrow(`${file} is damaged.`);
});

it('the amount before a run is that of the first opening of the run, also after the job is staged again', async () => {
  const jobs = new FolderJobs(join(dir, 'opened'));
  const before = async () => (await jobs.get('good'))?.opened?.beforeMicros;
  const open = (run: string, beforeMicros: number) => noteOpened(jobs, 'good', { run, beforeMicros });
  await jobs.put(entry('good'));
  await open('first', 5);
  await open('first', 900);
  await jobs.put(entryAfter(await jobs.get('good'), entry('good')));
  expect(await before()).toBe(5);
  await open('second', 900);
  expect(await before()).toBe(900);
});
