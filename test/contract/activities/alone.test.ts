import { ApplicationFailure } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AccountBreaker,
  CircuitBreaker,
  createAloneActivities,
  InFlight,
  Places,
} from '../../../src/activities/alone.js';
import type { CallOptions } from '../../../src/activities/types.js';
import type { OperationName } from '../../../src/api/operations.js';
import { createTransport } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { pricesAt } from '../../../src/core/purchase/prices.js';
import { sha256 } from '../../../src/worker/config/sha256.js';
import { quiet } from '../../support/activities/activity-setting.js';
import { examples } from '../../support/api/examples.js';
import { type Handler, json, rawServer } from '../../support/api/raw-server.js';
import { idleLimiter } from '../../support/store/idle-limiter.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A worker without a record, for a service that answers with `handler`. */
async function open(handler: Handler) {
  const server = await rawServer(handler);
  const limiter = idleLimiter();
  const transport = createTransport({ apiKey: new Secret('canary-key'), baseUrl: server.url });
  closing.push(
    server.close,
    () => transport.close(),
    () => limiter.close(),
  );
  const activities = createAloneActivities({
    ...{
      transport,
      limiter,
      sha256,
      origin: 'sandbox',
      secrets: null,
      timeoutMs: 60_000,
      prices: () => pricesAt(Date.now()),
    },
    ...{ places: new Places(limiter), inFlight: new InFlight(10) },
    ...{ health: new CircuitBreaker(), accountBreaker: new AccountBreaker() },
  });
  return {
    server,
    /** Runs one attempt. `note`: the heartbeat details of the attempts before it; `left`: those that this attempt leaves. */
    async attempt(name: OperationName, input: object, info: object = {}, call: CallOptions = {}) {
      const left: unknown[] = [];
      const client = {
        withAbortSignal: (_signal: AbortSignal, work: () => unknown) => work(),
        activity: { heartbeat: async (_token: Uint8Array, details: unknown) => void left.push(details) },
      };
      const environment = quiet({ attempt: 1, ...info }, client);
      environment.on('heartbeat', (details) => left.push(details));
      const activity = activities[name] as unknown as (input: object, call: CallOptions) => Promise<unknown>;
      const result: unknown = await environment.run(activity, input, call).catch((error: unknown) => error);
      return { result, left };
    },
  };
}

const { input, answer } = examples.search;
const sent = { lost: 1, open: { at: expect.any(Number), deadline: expect.any(Number) } };
const ok: Handler = (_request, socket) =>
  socket.write(json(200, { ...(answer as object), costDollars: { total: 0.007 } }));

it('an answer comes back with its costs, and its request is noted before it is sent', async () => {
  const { attempt, server } = await open(ok);
  const { result, left } = await attempt('search', input);
  expect(result).toMatchObject({
    data: answer,
    requests: [{ requestId: 'r', costDollars: 0.007, bought: true }],
    costDollars: 0.007,
    unknownOutcomes: undefined,
  });
  expect([left, server.requests.length]).toEqual([[sent], 1]);
});

describe('an attempt after other attempts', () => {
  it.each([
    ['that were killed before they sent a request', { attempt: 3 }, undefined],
    ['that ended without a lost answer', { attempt: 3, heartbeatDetails: { lost: 0 } }, undefined],
    ['of which two lost their answers', { attempt: 3, heartbeatDetails: { lost: 2 } }, 2],
  ])('%s sends one request and reports the unknown outcomes', async (_what, info, unknownOutcomes) => {
    const { attempt, server } = await open(ok);
    expect((await attempt('search', input, info)).result).toMatchObject({ data: answer, unknownOutcomes });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['a search after four lost answers', 'search', 4, {}],
    ['a search that may not be repeated', 'search', 1, { maxRebuys: 0 }],
    ['a call that must take effect once', 'triggerMonitor', 1, {}],
    ['a start that cannot be found again', 'createResearchTask', 1, {}],
  ] as const)('sends nothing: %s', async (_what, name, lost, call) => {
    const { attempt, server } = await open(ok);
    const { result } = await attempt(name, examples[name].input, { attempt: 5, heartbeatDetails: { lost } }, call);
    expect(result).toMatchObject({ type: 'UnknownOutcome', nonRetryable: true });
    expect(server.requests).toHaveLength(0);
  });
});

it.each([
  ['a 500', json(500, { error: 'm' }), { lost: 1 }],
  ['a 429', json(429, { error: 'm' }, { 'retry-after': '7' }), { lost: 0 }],
  ['a 503 that says it was not charged', json(503, { error: 'm', tag: 'SERVICE_OVERLOADED' }), { lost: 0 }],
])('a failed attempt leaves a note for the next one: %s', async (_what, reply, note) => {
  const { attempt, server } = await open((_request, socket) => socket.write(reply));
  const { result, left } = await attempt('search', input);
  expect(result).toBeInstanceOf(ApplicationFailure);
  expect(result).toMatchObject({ nonRetryable: false });
  expect([left, server.requests.length]).toEqual([[sent, note], 1]);
});

it('what needs a record is refused before it is sent', async () => {
  const { attempt, server } = await open(ok);
  const urls = Array.from({ length: 101 }, (_, index) => `https://page-${index}.example/`);
  const { result } = await attempt('getContents', { urls });
  expect(result).toMatchObject({ type: 'NeedsRecord', nonRetryable: true });
  expect((result as Error).message).toContain('pass stateDir or store to SearchflowPlugin');
  expect(server.requests).toHaveLength(0);
});

it('an answer that is too large for a history fails for good, with its request and its cost', async () => {
  const { attempt } = await open(ok);
  const { result } = await attempt('search', input, {}, { maxInlineBytes: 10 });
  expect(result).toMatchObject({
    type: 'ResultTooLarge',
    nonRetryable: true,
    details: [{ requestId: 'r', costDollars: 0.007, bytes: expect.any(Number) }],
  });
});

it.each([
  ['search', { query: 'q', numResults: 100, contents: { text: { maxCharacters: 20_000 } } }, 2_000_000],
  ['search', { query: 'q', contents: { text: { maxCharacters: 200_000 } } }, 2_000_000],
  ['findSimilar', { url: 'https://a.example/', contents: { text: { maxCharacters: 200_000 } } }, 2_000_000],
  ['search', { query: 'q', contents: { context: { maxCharacters: 2_000_000 } } }, 2_000_000],
  ['getContents', { urls: ['https://a.example/', 'https://b.example/'], text: { maxCharacters: 600_000 } }, 1_200_000],
  ['getContents', { urls: ['https://a.example/'], subpages: 3, text: { maxCharacters: 300_000 } }, 1_200_000],
] as const)(
  'a request that asks for more text than fits is refused before it is sent: %s %j',
  async (name, wanted, bytes) => {
    const { attempt, server } = await open(ok);
    const { result } = await attempt(name, wanted);
    expect(result).toMatchObject({ type: 'ResultTooLarge', nonRetryable: true, details: [{ costDollars: 0, bytes }] });
    expect((result as Error).message).toMatch(/text\.maxCharacters.*external storage.*Nothing was sent/);
    expect(server.requests).toHaveLength(0);
    // With external storage it is sent.
    await attempt(name, wanted, {}, { maxInlineBytes: 10_000_000 });
    expect(server.requests).toHaveLength(1);
  },
);

describe('an agent run', () => {
  const runs = new Map<string, { readonly id: string; readonly request: object }>();
  /** A service that keeps runs. It answers a start only if `replies`. */
  const service =
    (replies: boolean): Handler =>
    ({ head, body }, socket) => {
      if (!head.startsWith('POST'))
        return socket.write(json(200, { object: 'list', data: [...runs.values()], hasMore: false }));
      const run = {
        ...(examples.createAgentRun.answer as object),
        id: `agent_run_${runs.size + 1}`,
        request: JSON.parse(body),
      };
      runs.set(run.id, run);
      return replies ? socket.write(json(200, run)) : socket.destroy();
    };
  const workflow = (workflowId: string) => ({ workflowExecution: { workflowId, runId: 'r' }, activityId: '1' });
  const start = examples.createAgentRun.input;

  it('whose start got no answer is found by its tag, not by its request, and is started once', async () => {
    runs.clear();
    const { attempt, server } = await open(service(false));
    const first = await attempt('createAgentRun', start, workflow('one'));
    const other = await attempt('createAgentRun', start, workflow('two'));
    expect([first.result, other.result]).toMatchObject([
      { data: { id: 'agent_run_1' } },
      { data: { id: 'agent_run_2' } },
    ]);
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(2);
  });

  it('whose worker was killed is found by the next attempt', async () => {
    runs.clear();
    const { attempt, server } = await open(service(true));
    const [heartbeatDetails] = (await attempt('createAgentRun', start, workflow('one'))).left;
    const { result } = await attempt('createAgentRun', start, { ...workflow('one'), attempt: 2, heartbeatDetails });
    expect(result).toMatchObject({ data: { id: 'agent_run_1' }, unknownOutcomes: undefined });
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(1);
  });

  it('that is listed late is found by the next attempt', async () => {
    runs.clear();
    let isListed = false;
    const { attempt, server } = await open((request, socket, nth) => {
      if (isListed || request.head.startsWith('POST')) return service(false)(request, socket, nth);
      return socket.write(json(200, { object: 'list', data: [], hasMore: false }));
    });
    const first = await attempt('createAgentRun', start, workflow('one'));
    expect(first.result).toMatchObject({ type: 'Waiting' });
    isListed = true;
    const next = { ...workflow('one'), attempt: 2, heartbeatDetails: first.left.at(-1) };
    const { result } = await attempt('createAgentRun', start, next);
    expect(result).toMatchObject({ data: { id: 'agent_run_1' }, unknownOutcomes: undefined });
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(1);
  });

  it('that a killed worker did not start is started once the list proves so', async () => {
    runs.clear();
    const { attempt, server } = await open(service(true));
    // The list shows tags.
    await attempt('createAgentRun', start, workflow('two'));
    const noted = (at: number) => ({ lost: 1, open: { at, deadline: at + 59_999 } });
    const killed = { ...workflow('one'), attempt: 2, heartbeatDetails: noted(Date.now()) };
    const { result, left } = await attempt('createAgentRun', start, killed);
    expect([result, left]).toMatchObject([{ type: 'Waiting' }, []]);
    const later = { ...killed, attempt: 3, heartbeatDetails: noted(Date.now() - 60_000) };
    const last = await attempt('createAgentRun', start, later);
    expect(last.result).toMatchObject({ data: { id: 'agent_run_2' }, unknownOutcomes: undefined });
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(2);
  });
});
