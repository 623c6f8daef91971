import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FolderJobs } from '../../../dist/worker/store/folder-jobs.js';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

/** The allowlist has only the folder of the rows, so workflows may use no file outside of it. */
const folder = Folder.ofFile();
const elsewhere = folderOfFile();
const { dir, input, into, stateDir } = folder;
const taskQueue = dir;
const temporal = temporalOfFile();
const sandbox = ofFile(() => startSandbox({ failureRate: 0, textBytes: 100 }));
ofFile(() => startHost(temporal, folder.config(sandbox.url, { paths: [dir], hosts: ['db.internal:5432'] })));

/** A database that is not on the allowlist. */
let database: Server;
let connections = 0;

beforeAll(async () => {
  database = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve));
  folder.write(plainRows(4));
  writeFileSync(join(elsewhere, 'rows.csv'), readFileSync(input));
  symlinkSync(elsewhere, join(dir, 'link'));
  symlinkSync(join(elsewhere, 'new.csv'), join(dir, 'dangling.csv'));
});
afterAll(() => void database?.close());

type Case = readonly [workflow: string, input: object, message: RegExp];

const rows = { input, into };
const scheduled = { schedule: 'daily', workflow: 'enrichCsv' };
const path = /SEARCHFLOW_PATHS \(option paths of SearchflowPlugin\)/;
const server = /SEARCHFLOW_HOSTS \(option hosts of SearchflowPlugin\)/;
const outside = join(elsewhere, 'x.duckdb');

/** Every way to name the warehouse of a workflow. */
const intoAll = (value: string, message: RegExp): Case[] => [
  ['enrichCsv', { ...rows, into: value }, message],
  ['runAgentRows', { ...rows, into: value, query: 'Who leads {{name}}?' }, message],
  ['syncEvents', { into: value }, message],
  ['backfillEvents', { into: value, from: '2025-01-01' }, message],
  ['exportMonitorRuns', { into: value }, message],
  ['syncAgentRuns', { into: value }, message],
  ['batchMonitors', { action: 'pause', filter: { name: 'daily' }, into: value }, message],
  ['scheduledJob', { ...scheduled, workflowId: `searchflow-${value}`, input: { ...rows, into: value } }, message],
];

const cases = (): Case[] => {
  const { port } = database.address() as AddressInfo;
  return [
    ...intoAll(outside, path),
    ...intoAll(`postgres://127.0.0.1:${port}/x`, server),
    ['enrichCsv', { ...rows, into: join(dir, 'link', 'x.duckdb') }, path],
    ['enrichCsv', { ...rows, into: `postgres:///x?host=127.0.0.1&port=${port}` }, server],
    ['enrichCsv', { ...rows, into: 'postgres://db.internal,evil.example/x?sslmode=verify-full' }, /more than one host/],
    ['enrichCsv', { input: join(elsewhere, 'rows.csv'), into }, path],
    ['enrichCsv', { input: join(dir, 'link', 'rows.csv'), into }, path],
    ['enrichCsv', { input: '-', job: 'stdin', into }, /standard input/],
    ['enrichCsv', { ...rows, csv: join(elsewhere, 'x.csv') }, path],
    ['enrichCsv', { ...rows, csv: join(dir, 'dangling.csv') }, path],
    ['enrichCsv', { ...rows, csv: join(stateDir, 'jobs', 'x.json') }, path],
    ['runAgentRows', { ...rows, csv: join(dir, 'package.json'), query: 'Who?' }, /does not end with \.csv/],
    ['createMonitor', { definition: {}, secretFile: join(elsewhere, 'secrets.json') }, path],
    ['createMonitor', { definition: {}, secretFile: join(dir, 'link', 'secrets.json') }, path],
    ['enrichCsv', { ...rows, staged: { job: 'rows-000000', generation: 'abc' } }, /has no staged rows of that name/],
    ['enrichCsv', { ...rows, staged: { job: 'walks', generation: 'abc' } }, /has no staged rows of that name/],
  ];
};

let started = 0;
async function endOf(workflow: string, args: readonly unknown[], memo = {}) {
  const workflowId = `named-${++started}`;
  const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [...args], memo });
  const end = await handle.result().then(
    (result: unknown) => ({ result, cause: null }),
    (error: Error) => ({ result: null, cause: lastOf(error) as Partial<ApplicationFailure> }),
  );
  const { events } = await handle.fetchHistory();
  const attempts = (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0);
  return { ...end, attempts: Math.max(...attempts) };
}

const lastOf = (error: Error): Error => (error.cause instanceof Error ? lastOf(error.cause) : error);

const filesIn = (at: string) => readdirSync(at, { recursive: true, encoding: 'utf8' }).sort();

it('a file or a database that is not on the allowlist is refused to every workflow, once and for good, with the setting; nothing is written, bought or connected', async () => {
  const before = [filesIn(elsewhere), filesIn(dir)];
  const ends = await Promise.all(
    cases().map(async ([workflow, input, message]) => ({
      what: `${workflow} ${JSON.stringify(input).slice(0, 200)}`,
      message,
      ...(await endOf(workflow, [input])),
    })),
  );
  for (const { what, message, cause, attempts } of ends) {
    expect
      .soft({ what, type: cause?.type, text: cause?.message, forGood: cause?.nonRetryable, attempts })
      .toMatchObject({ type: 'BadInput', text: expect.stringMatching(message), forGood: true });
    expect.soft([what, attempts <= 1]).toEqual([what, true]);
  }
  expect([filesIn(elsewhere), filesIn(dir)]).toEqual(before);
  expect(sandbox.log()).toEqual([]);
  expect(connections).toBe(0);
});

describe('staged rows', () => {
  const csv = join(dir, 'out.csv');
  const entries = new FolderJobs(join(stateDir, 'jobs'));
  const forged = {
    ...{ name: 'other', origin: 'https://evil.example', operation: 'search', input: '/etc/passwd', into: outside },
    ...{ columns: ['x'], unitColumn: 'x', options: { text: false }, batch: 1, rows: 1, slices: 900, rowsPerSlice: 1 },
    ...{ window: 100_000, stageDir: elsewhere },
  };

  it('are found by job and generation only: other fields of an input or a state are not trusted', async () => {
    const first = await endOf('enrichCsv', [{ ...rows, urlColumn: 'url', csv, job: 'x/../../../y' }]);
    expect(first.result).toMatchObject({ phase: 'done', csv, into });
    const [entry] = await entries.all();
    const { job, generation } = entry?.staged ?? { job: '', generation: '' };
    expect(job).toMatch(/^x-y-\w{6}$|^x-[\w-]+-\w{6}$/);
    const staged = { ...forged, job, generation };
    const bought = sandbox.log().length;
    rmSync(csv);

    const again = await endOf('enrichCsv', [
      { input: '/etc/passwd', into: outside, csv: join(elsewhere, 'x.csv'), staged },
    ]);
    expect(again).toMatchObject({ cause: null, result: { phase: 'done', job, into, csv } });
    const handed = { version: 1, staged, freshness: null, csv: join(elsewhere, 'x.csv'), queue: [[0, 0]] };
    const before = { requests: 0, costMicros: 0 };
    const state = { ...handed, paused: null, startedAt: 1, carried: true, resumedAt: 1, before };
    const sums = { requests: 0, failed: 0, costMicros: 0, unknownOutcomes: 0 };
    const carried = await endOf(
      'enrichCsv',
      [
        { ...rows, staged },
        { ...state, ...sums },
      ],
      { startedBy: 'searchflow' },
    );
    // The state has the cost of the job, so a state is accepted only from an earlier run of the same workflow.
    expect(carried).toMatchObject({ cause: { type: 'BadInput' }, result: null });

    expect(filesIn(elsewhere)).toEqual(['rows.csv']);
    expect(folder.outcomes()).toHaveLength(4);
    expect(sandbox.log()).toHaveLength(bought);
  });

  it('are still used after the file changed and was staged again', async () => {
    const run = (how: object) => endOf('enrichCsv', [{ ...rows, urlColumn: 'url', job: 'moving', ...how }]);
    await run({});
    const find = async () => (await entries.all()).find(({ staged: { name } }) => name === 'moving');
    const old = (await find())?.staged;
    folder.write(plainRows(6));
    await run({});
    expect((await find())?.staged.generation).not.toBe(old?.generation);
    const { result } = await run({ staged: { job: old?.job, generation: old?.generation } });
    expect((result as JobSummary).phase).toBe('done');
  });
});

it('a path that a person typed in a command is allowed for workflows from then on, in the same field', async () => {
  const secretFile = join(elsewhere, 'secrets.json');
  const one = { field: 'into', what: outside, host: hostname() };
  await new FolderJobs(join(stateDir, 'jobs')).allow([one]);
  const { result } = await endOf('syncEvents', [{ into: outside }]);
  expect(result).toMatchObject({ phase: 'done', into: outside });
  for (const input of [
    { ...rows, csv: outside },
    { input: outside, into },
  ])
    expect((await endOf('enrichCsv', [input])).cause?.message).toMatch(path);
  expect((await endOf('createMonitor', [{ definition: {}, secretFile }])).cause?.message).toMatch(path);
});
