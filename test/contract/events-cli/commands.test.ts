import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, it, onTestFinished } from 'vitest';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { statusOf } from '../../../src/worker/runtime/job-status.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import type { RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import { listen } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { noRecords } from '../../support/jobs/job-entry.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

// The tests type commands on a real Temporal server without a worker, because they only check the inputs of walks.
const temporal = temporalOfFile();
const service = ofFile(listen);
const cwd = folderOfFile();
const soon = { timeout: 20_000, interval: 20 };
const into = join(cwd, 'x.duckdb');
const jobs = new FolderJobs(join(cwd, 'jobs'));

function type(line: string, changes: RuntimeAnswers = {}) {
  const config = { origin: service.url, taskQueue: 'nobody-walks-here', warehouse: null } as unknown as RuntimeConfig;
  return typeCommand(cwd, line, {
    walks: () => jobs.walks(),
    workflows: async () => ({ client: temporal.client, config, shared: false, allow: async () => undefined }),
    statusOfWalk: (walk) => statusOf(walk, { ...noRecords, client: temporal.client }),
    ...changes,
  });
}

/** The workflow that a command started: type, input and the signals that it received. */
async function started(stream: string) {
  const { workflowService } = temporal.client;
  const found = async () => {
    for await (const one of temporal.client.workflow.list({ query: "ExecutionStatus = 'Running'" }))
      if (one.workflowId.startsWith(`searchflow-events-${stream}-`)) return one;
    return null;
  };
  await expect.poll(found, soon).not.toBeNull();
  const { workflowId = '', runId = '', type: name } = (await found()) ?? {};
  onTestFinished(async () => {
    const handle = temporal.client.workflow.getHandle(workflowId);
    await handle.terminate('the test is over').catch(() => undefined);
  });
  const history = async () => {
    const execution = { workflowId, runId };
    const namespace = temporal.namespace as string;
    return (await workflowService.getWorkflowExecutionHistory({ namespace, execution })).history?.events ?? [];
  };
  const [first] = await history();
  const payload = first?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  return {
    name,
    workflowId,
    job: workflowId.slice('searchflow-'.length),
    input: payload && defaultPayloadConverter.fromPayload(payload),
    signals: async () =>
      (await history()).flatMap((event) => [
        ...(event.workflowExecutionSignaledEventAttributes
          ? [event.workflowExecutionSignaledEventAttributes.signalName]
          : []),
        ...(event.workflowExecutionCancelRequestedEventAttributes ? ['cancel'] : []),
      ]),
    end: () => temporal.client.workflow.getHandle(workflowId).terminate('by somebody'),
  };
}

it.each([
  [
    'sync --type webset.idle,webset.created --parallel 7',
    'sync',
    'syncEvents',
    { types: ['webset.created', 'webset.idle'], parallel: 7 },
  ],
  [
    'backfill --from 2026-01-01 --until 2026-01-02',
    'backfill',
    'backfillEvents',
    { from: '2026-01-01T00:00:00.000Z', until: '2026-01-03T00:00:00.000Z' },
  ],
  [
    'verify --from 2026-01-01T08:00+01:00',
    'verify',
    'backfillEvents',
    { verify: true, from: '2026-01-01T07:00:00.000Z' },
  ],
])('events %s starts a walk with exactly these options', async (line, stream, workflow, input) => {
  const command = type(`events ${line} --into ${into} --qps 3`);
  const walk = await started(stream);
  expect([walk.name, walk.input]).toEqual([workflow, { into, origin: service.url, ...input }]);
  await walk.end();
  expect(await command).toMatchObject({ code: 6, config: { rate: { qps: 3 } } });
});

it('a walk is paused, resumed and cancelled by its name; reading events costs nothing', async () => {
  const command = type(`events sync --into ${into}`);
  const { job, workflowId, signals, end } = await started('sync');
  await jobs.putWalk({ job, workflowId, origin: service.url, stream: 'sync', into });
  expect(await type('pause events-sync')).toMatchObject({
    code: 0,
    err: expect.stringContaining(`Pausing ${job}`),
  });
  expect(await type('resume events-sync --max-cost 3')).toMatchObject({
    code: 2,
    refusal: '--max-cost is for jobs of rows, not for events.',
  });
  expect(await signals()).toEqual(['pause']);
  const resumed = type('resume events-sync');
  await expect.poll(signals, soon).toEqual(['pause', 'resume']);
  expect(await type(`cancel ${job}`)).toMatchObject({ code: 0, err: expect.stringContaining(`Cancelling ${job}.`) });
  expect(await signals()).toEqual(['pause', 'resume', 'cancel']);
  await end();
  expect([(await command).code, (await resumed).code]).toEqual([6, 6]);
});

it('a status of events without a warehouse names the command that makes one', async () => {
  const { out, err, code } = await type('events status --into nowhere.duckdb', { walks: async () => [] });
  expect([out, code]).toEqual(['', 0]);
  expect(err).toBe(
    `File ${join(cwd, 'nowhere.duckdb')} not found; no events of ${service.url} are loaded. To load them:\n  searchflow events sync --into ${join(cwd, 'nowhere.duckdb')}\n`,
  );
  const { out: data } = await type('events status --into nowhere.duckdb --json', { walks: async () => [] });
  expect(JSON.parse(data)).toMatchObject({ kind: 'events', known: true, streams: [], events: 0 });
  expect(await type('events status --into mysql://host/db')).toMatchObject({
    code: 2,
    refusal: expect.stringContaining('mysql: is not supported'),
  });
});

it('the status of a walk shows its state and command if the warehouse refuses the login', async () => {
  // The answer of a database that refuses every login.
  const refusal = Buffer.from('SFATAL\0C28000\0Mno user name specified\0\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(refusal.length + 4);
  const database = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, refusal])));
  }).listen(0, '127.0.0.1');
  await once(database, 'listening');
  onTestFinished(() => void database.close());
  const target = `postgres://127.0.0.1:${(database.address() as AddressInfo).port}/dw?schema=ev&sslmode=disable`;
  const command = type(`events sync --into ${target}`);
  const { job, workflowId, end } = await started('sync');
  await end();
  await command;
  const walk = { job, workflowId, origin: service.url, stream: 'sync', into: target };
  const walks = async () => [walk];
  const missing = expect.stringMatching(/^The database .* refused: no user name specified: check the address/);
  const { code, out } = await type(`status ${job}`, { walks });
  expect(code).toBe(0);
  expect(out.split('\n')).toEqual([
    `${job}: failed`,
    '  reason: by somebody',
    expect.stringMatching(/^ {2}to resume: searchflow events sync --into .*schema=ev/),
    expect.stringMatching(/^The figures of the warehouse are missing: The database .* no user name specified/),
    '',
  ]);
  const asJson = await type(`status ${job} --json`, { walks });
  expect(asJson.code).toBe(0);
  expect(JSON.parse(asJson.out)).toMatchObject({
    ...{ known: false, missing, running: [] },
    interrupted: [{ job, state: 'failed', message: 'by somebody', resumeText: expect.stringContaining('events sync') }],
  });
  const unknown = await type(`events status --into ${target}`, { walks: async () => [] });
  expect(unknown).toMatchObject({ code: 1, refusal: expect.stringContaining('no user name specified') });
});
