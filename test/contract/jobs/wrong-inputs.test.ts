import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ApplicationFailure } from '@temporalio/common';
import { beforeAll, describe, expect, it } from 'vitest';
import { inputProblems } from '../../../src/workflows/shared/public-input.js';
import { answer, rawServer } from '../../support/api/raw-server.js';
import { failureOf } from '../../support/failure-of.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const server = ofFile(() => rawServer((_request, socket) => socket.write(answer(401, '{"error":"no such key"}'))));
const host = ofFile(() => startHost(temporal, folder.config(server.url)));
const folder = Folder.ofFile();
const taskQueue = folder.dir;

beforeAll(async () => {
  folder.write(plainRows(4));
});

const { input, into } = folder;
const rows = { input, into };
const agents = { input, into, query: 'Who leads {{name}}?' };
const some = { name: 'daily' };
const batch = { action: 'pause', filter: some, into };
const scheduled = { schedule: 'daily', workflow: 'enrichCsv', workflowId: 'searchflow-rows', input: rows };
const staged = { job: 'rows-1', generation: 'abc' };

/** Wrong arguments of each workflow, and what the refusal says. The unit test of the check of inputs has further values. */
const wrong: Readonly<Record<string, readonly (readonly [args: readonly unknown[], message: RegExp])[]>> = {
  enrichCsv: [
    [[], /input is missing; it must be a text that is not empty\./],
    [['rows.csv'], /The input must be an object \(got "rows\.csv"\)\./],
    [
      [{ ...rows, into: 'host=db password=hidden dbname=x' }],
      /into: the address has libpq's form; write postgres:\/\/host:5432\/database/,
    ],
    [
      [{ ...rows, max_cost_dollars: 0.01 }],
      /max_cost_dollars is not a field of enrichCsv; did you mean maxCostDollars\?$/,
    ],
    [[{ ...rows, zzzzzzzzz: 'secret-value' }], /zzzzzzzzz is not a field of enrichCsv; its fields are input, into,/],
    [
      [{ ...rows, maxCostDollars: Number.NaN }],
      /maxCostDollars must be a number from 0 to 1000000000 or "none" \(got null\)\./,
    ],
    [[{ ...rows, operation: 'serach' }], /operation must be one of contents, search, .* \(got "serach"\)\./],
    [
      [{ ...rows, options: { maxCostDollars: 0.01 } }],
      /options\.maxCostDollars belongs beside options, as maxCostDollars\./,
    ],
    [[{ ...rows, into: ['postgres://me:hidden@host/db'] }], /into must be .* \(got a list\)\./],
    [[{ ...rows, retryFailed: 'yes' }], /retryFailed must be true or false \(got "yes"\)\./],
    [
      [{ ...rows, staged: { ...staged, job: '../../rows' } }],
      /staged\.job must be an id of at most 200 .* \(got "\.\.\/\.\.\/rows"\)\./,
    ],
    [[{ ...rows, job: 'a\0b' }], /job must be a name of at most 200 characters/],
    [[rows, { version: 1 }], /enrichCsv takes one argument/],
    [[{ ...rows, batch: 0, limit: 0 }], /batch must be .*\. limit must be /],
  ],
  runAgentRows: [
    [[{ ...agents, effort: 'low', request: { effort: 'high' } }], /effort and request\.effort are both set/],
    [
      [{ ...rows, query: 'q', request: { max_cost_dollars: 1 } }],
      /request\.max_cost_dollars belongs beside request, as/,
    ],
    [[{ ...agents, output_schema: {} }], /output_schema is not a field of runAgentRows; did you mean outputSchema\?/],
  ],
  syncEvents: [
    [[{ into, types: 'webset.created' }], /types must be a list of texts or null \(got "webset\.created"\)\./],
    [[{ into, from: '2025-01-01' }], /from is not a field of syncEvents/],
  ],
  runAgent: [
    [
      [{ query: 'q', max_cost_dollars: 1 }],
      /max_cost_dollars belongs to the options, the second argument of runAgent, as maxCostDollars\./,
    ],
    [[{ query: 'q' }, { maxCost: 1 }], /options\.maxCost is not a field of options; /],
    [[{ query: 'q' }, { extraHeaders: { a: 5 } }], /options\.extraHeaders\.a must be a text \(got 5\)\./],
    [[{ query: 'q' }, {}, 3], /runAgent takes two arguments; remove the others\.$/],
  ],
  runResearch: [
    [[{ maxCostDollars: 1 }], /maxCostDollars belongs to the options, the second argument of runResearch/],
    [[{ query: 'q' }, { refreshAfterMs: 'never' }], /options\.refreshAfterMs must be a number/],
  ],
  backfillEvents: [
    [[{ into, from: 'yesterday' }], /from must be a date such as 2025-01-31T00:00:00Z \(got "yesterday"\)\./],
    [[{ into, from: '2026-02-31' }], /from must be a date such as .* \(got "2026-02-31"\)/],
    [[{ into, from: '2025-02-01', until: '2025-01-01' }], /from must not be later than until/],
  ],
  exportMonitorRuns: [
    [[{ filter: 'daily' }], /filter must be an object \(got "daily"\)\./],
    [[{ into, filter: { metdata: {} } }], /filter\.metdata is not a field of filter; did you mean filter\.metadata\?/],
  ],
  syncAgentRuns: [[[{ limit: 5 }], /limit/]],
  batchMonitors: [
    [[null], /action is missing; it must be one of pause, unpause, delete\./],
    [[{ action: 'pause', into }], /a batch never covers all monitors/],
    [[{ ...batch, approval: 'maybe' }], /approval must be one of wait, none \(got "maybe"\)\./],
    [[{ ...batch, approval: { who: 'Bob' } }], /approval\.by is missing/],
    [[{ action: 'unpause', ofSchedule: 'weekend', filter: some, into }], /without a filter/],
    [[{ action: 'pause', ofSchedule: 'weekend', into }], /ofSchedule is for unpause/],
  ],
  createMonitor: [
    [[{}], /definition is missing; it must be an object\./],
    [[{ definition: {}, secret_file: 'a' }], /did you mean secretFile\?/],
  ],
  monitorCall: [
    [[{}], /operation is missing.*input is missing/],
    [[{ operation: 'dropMonitor', input: {} }], /operation must be one of getMonitor, /],
  ],
  scheduledJob: [
    [
      [{}],
      /workflow is missing; it must be one of enrichCsv, syncEvents, exportMonitorRuns, batchMonitors, syncAgentRuns\./,
    ],
    [[{ ...scheduled, workflow: 'runAgent' }], /workflow must be one of enrichCsv, .* \(got "runAgent"\)\./],
    [
      [{ ...scheduled, input: { ...rows, max_cost_dollars: 1 } }],
      /input\.max_cost_dollars is not a field of input; did you mean input\.maxCostDollars\?/,
    ],
    [[{ ...scheduled, workflowId: 'x'.repeat(1001) }], /workflowId must be a text of 1 to 1000 characters/],
  ],
  deliverAlert: [[[{ alert: { id: 'a' }, receiver: 'mail' }], /alert.type is missing.*receiver must be/]],
};
/** Addresses with a password, in each field that names a file or a database. */
const refusal = /^Invalid input of \w+\. (input\.)?(into|input|csv): /;
const passwords = ['postgres://ann:hidden@127.0.0.1:9/dw', 'postgres://127.0.0.1:9/dw?user=ann&password=hidden'];
const others = [
  ...['host=127.0.0.1 dbname=dw password=hidden', 'ann:hidden@127.0.0.1/dw', 'mysql://ann:hidden@127.0.0.1/dw'],
  ...['jdbc:postgresql://127.0.0.1/dw?user=ann&password=hidden', 'snowflake://ann:hidden@account/dw'],
];
const loading = { enrichCsv: rows, runAgentRows: agents, syncEvents: {}, backfillEvents: {}, exportMonitorRuns: {} };
const withPassword = [
  ...Object.entries({ ...loading, syncAgentRuns: {}, batchMonitors: batch }).flatMap(([workflow, of]) =>
    passwords.map((at) => [workflow, [{ ...of, into: at }], refusal] as const),
  ),
  ['scheduledJob', [{ ...scheduled, workflow: 'syncEvents', input: { into: passwords[0] } }], refusal] as const,
  ...['input', 'into', 'csv'].flatMap((field) =>
    others.map((at) => ['enrichCsv', [{ ...rows, [field]: at }], refusal] as const),
  ),
];
const cases = [
  ...Object.entries(wrong).flatMap(([workflow, all]) => all.map((one) => [workflow, ...one] as const)),
  ...withPassword,
];

/** Every file below a folder, with its size and the time of its last change. */
function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${statSync(path).size} ${statSync(path).mtimeMs}`)
    .sort();
}

it('a wrong input is refused by its workflow at once and for good, with a sentence for each field; nothing is written or sent', async () => {
  const before = filesIn(folder.dir);
  const started = await Promise.all(
    cases.map(async ([workflow, args, message], index) => {
      const workflowId = `wrong-${index}`;
      const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [...args] });
      return { handle, what: `${workflow} ${JSON.stringify(args)}`, message };
    }),
  );
  const ends = await Promise.all(
    started.map(async ({ handle, what, message }) => {
      const cause = await handle.result().then(
        () => null,
        (error: Error) => error.cause as Partial<ApplicationFailure>,
      );
      const { events } = await handle.fetchHistory();
      return { what, message, cause, events: events ?? [] };
    }),
  );
  for (const { what, message, cause, events } of ends) {
    expect.soft({ what, type: cause?.type, text: cause?.message, forGood: cause?.nonRetryable }).toEqual({
      what,
      type: 'BadInput',
      text: expect.stringMatching(message),
      forGood: true,
    });
    expect.soft(cause?.message).not.toMatch(/hidden|secret-value/);
    const tried = events.filter(
      (event) => event.activityTaskScheduledEventAttributes ?? event.workflowTaskFailedEventAttributes,
    );
    expect.soft([what, tried]).toEqual([what, []]);
  }
  expect(filesIn(folder.dir)).toEqual(before);
  expect(server.requests).toEqual([]);
});

describe('a request that no row of the file can have', () => {
  const unusable: readonly (readonly [string, object, string])[] = [
    ['runAgentRows', { ...agents, request: { numResults: 5 } }, 'numResults is a field of search, not of'],
    ['enrichCsv', { ...rows, options: { numResults: 1e9 } }, 'numResults is a field of search, not of'],
    ['enrichCsv', { ...rows, options: { urls: [] } }, 'urls: the URLs of contents come from the rows'],
    ['enrichCsv', { ...rows, urlColumn: 'url', options: { text: 5 } }, 'text: '],
    ['enrichCsv', { ...rows, operation: 'answer', template: { query: '{{name}}', text: 'yes' } }, 'text: '],
    ['enrichCsv', { ...rows, rowsPerRun: 2 }, 'Only agent runs can share a request between rows.'],
  ];

  it('is refused at the first attempt; nothing is written or sent', async () => {
    const before = filesIn(folder.dir);
    for (const [index, [workflow, given, message]] of unusable.entries()) {
      const workflowId = `no-row-${index}`;
      const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [given] });
      const { cause } = await handle.result().catch((error: Error) => error as { readonly cause: unknown });
      const text = expect.stringContaining(message);
      expect.soft(cause).toMatchObject({ type: 'BadInput', nonRetryable: true, message: text });
      const { events } = await handle.fetchHistory();
      const started = events?.flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []);
      // The second activity reports the failure.
      expect.soft([message, started]).toEqual([message, [1, 1]]);
    }
    expect(filesIn(folder.dir)).toEqual(before);
    expect(server.requests).toEqual([]);
  });
});

describe('another service or machine', () => {
  const origin = 'https://elsewhere.example';
  const all = (meant: object): readonly (readonly [string, object])[] => [
    ['enrichCsv', { ...rows, ...meant }],
    ['runAgentRows', { ...agents, ...meant }],
    ['syncEvents', { into, ...meant }],
    ['backfillEvents', { into, ...meant }],
    ['exportMonitorRuns', { into, ...meant }],
    ['batchMonitors', { ...batch, ...meant }],
    ['createMonitor', { definition: { search: { query: 'q' } }, ...meant }],
    ['scheduledJob', { ...scheduled, workflowId: `of-${Object.keys(meant)[0]}`, input: { ...rows, ...meant } }],
  ];
  const named: readonly (readonly [string, object])[] = [
    ...all({ origin }),
    ['monitorCall', { operation: 'listMonitors', input: {}, origin }],
    ...all({ host: 'elsewhere' }),
  ];

  it('that no worker has is refused for a client at once and for good, with the own one', async () => {
    const before = filesIn(folder.dir);
    const ends = named.map(async ([workflow, given], index) => {
      const workflowId = `elsewhere-${index}`;
      const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [given] });
      let error: unknown = await failureOf(handle.result());
      while (error instanceof Error && error.cause instanceof Error) error = error.cause;
      return { workflow, type: (error as ApplicationFailure | null)?.type, text: (error as Error | null)?.message };
    });
    for (const [index, end] of (await Promise.all(ends)).entries()) {
      const isHost = 'host' in (named[index]?.[1] ?? {}) || JSON.stringify(named[index]).includes('"host"');
      const own = isHost
        ? `host must be ${hostname()}, the machine`
        : `origin must be ${host.parts.deps.origin}, the service`;
      expect.soft(end).toEqual({ workflow: end.workflow, type: 'BadInput', text: expect.stringContaining(own) });
    }
    expect(filesIn(folder.dir)).toEqual(before);
    expect(server.requests).toEqual([]);
  });
});

describe('a client that imitates a command', () => {
  const mistyped = { ...rows, max_cost_dollars: 0.01 };
  const refused = { cause: { type: 'BadInput', message: expect.stringContaining('did you mean maxCostDollars?') } };

  it.each(['searchflow', 'command'])('by the memo %s buys nothing past a mistyped cap', async (startedBy) => {
    const how = { workflowId: `forged-${startedBy}`, taskQueue, args: [mistyped], memo: { startedBy } };
    await expect(temporal.client.workflow.execute('enrichCsv', how)).rejects.toMatchObject(refused);
  });

  it('by the name of its schedule buys nothing past a mistyped cap', async () => {
    const run = { type: 'startWorkflow', workflowType: 'enrichCsv', workflowId: 'own', taskQueue } as const;
    const action = { ...run, args: [mistyped] };
    const { schedule } = temporal.client;
    const handle = await schedule.create({ scheduleId: 'searchflow-nightly', spec: {}, action });
    await handle.trigger();
    const first = async () => (await handle.describe()).info.recentActions[0]?.action.workflow;
    await expect.poll(first, { timeout: 10_000 }).toBeDefined();
    const started = (await first())?.workflowId as string;
    await expect(temporal.client.workflow.getHandle(started).result()).rejects.toMatchObject(refused);
    await handle.delete();
  });
});

it('a pipe as input is refused at once, because opening it would wait for a writer', async () => {
  execFileSync('mkfifo', [join(folder.dir, 'pipe.csv')]);
  const args = [{ ...rows, input: join(folder.dir, 'pipe.csv') }];
  const error = temporal.client.workflow.execute('enrichCsv', { workflowId: 'of-a-pipe', taskQueue, args });
  await expect(error).rejects.toMatchObject({ cause: { message: expect.stringContaining('is a pipe or socket') } });
  rmSync(join(folder.dir, 'pipe.csv'));
});

describe('a field of another version', () => {
  const run = {
    schedule: 'tolerant',
    workflow: 'syncEvents',
    workflowId: 'searchflow-tolerant',
    input: { into, later: 1 },
  };

  it('is refused from a client, and ignored in a scheduled run of the command', async () => {
    expect(inputProblems('scheduledJob', [run], true)).toEqual([
      'input.later is not a field of input; its fields are into, host, types, parallel, origin, unchecked, scheduled.',
    ]);
    const schedule = await temporal.client.schedule.create({
      scheduleId: 'searchflow-schedule-tolerant',
      spec: {},
      action: { type: 'startWorkflow', workflowType: 'scheduledJob', workflowId: 'scheduled', taskQueue, args: [run] },
    });
    await schedule.trigger();
    const first = async () => (await schedule.describe()).info.recentActions[0]?.action.workflow;
    await expect.poll(first, { timeout: 10_000 }).toBeDefined();
    const started = await first();
    const handle = temporal.client.workflow.getHandle(started?.workflowId as string, started?.firstExecutionRunId);
    expect(await handle.result()).toMatchObject({ phase: 'stopped', message: expect.stringMatching(/key/) });
    await schedule.delete();
  });
});
