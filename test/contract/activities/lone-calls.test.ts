import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ActivityDeps, createActivities } from '../../../src/activities/index.js';
import type { CallOptions, OperationResult } from '../../../src/activities/types.js';
import type { OperationName } from '../../../src/api/operations.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import {
  ActivitySetting,
  attempt,
  type Fields,
  quiet,
  runActivity,
} from '../../support/activities/activity-setting.js';
import { examples } from '../../support/api/examples.js';
import { type Handler, json, type RawServer, rawServer } from '../../support/api/raw-server.js';
import { ofFile } from '../../support/of-file.js';

const setting = ofFile(() => ActivitySetting.open());
const servers: RawServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** Number of services so far; it gives each service an origin of its own, so that purchases are not shared. */
let used = 0;
const limiter = new MemoryLimiter(flatProfile(1000));
async function service(handler: Handler) {
  const server = await rawServer(handler);
  servers.push(server);
  const deps = setting.worker({ baseUrl: server.url }, `origin ${used++}`, limiter);
  const run = (name: OperationName, input: object = examples[name].input, call?: CallOptions) =>
    runActivity(deps, name, input, call);
  return { server, deps, run };
}

/** Every file of a folder, with its size and the time of its last change. */
const filesIn = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${statSync(path).size} ${statSync(path).mtimeMs}`)
    .sort();

const replying =
  (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
  (_request, socket) =>
    socket.write(json(status, body, headers));
const odd = { newField: { deep: [1, null, 0, ''] } };

describe('an activity of one operation', () => {
  it.each([1e300, -1, Number.MAX_VALUE])(
    'an answer with the cost %s lands at the price of the table',
    async (total) => {
      const body = { requestId: 'r', results: [{ id: 'https://a.example' }], costDollars: { total } };
      const { run } = await service(replying(200, body));
      const costDollars = expect.toSatisfy((dollars) => dollars > 0 && dollars < 1);
      expect(await run('search')).toMatchObject({ requests: [{ costDollars }] });
    },
  );

  it('a call whose answer is no longer kept is not bought again, unless it asks for a new answer', async () => {
    let sent = 0;
    const { run } = await service((_request, socket) => {
      sent++;
      socket.write(json(200, examples.search.answer, {}));
    });
    await run('search');
    vi.spyOn(setting.journal, 'read').mockResolvedValueOnce(new Map());
    await expect(run('search')).rejects.toMatchObject({
      type: 'BodiesGone',
      nonRetryable: true,
      message: expect.stringContaining('call it with { refreshAfterMs: 0 }'),
    });
    expect(sent).toBe(1);
    expect(await run('search', undefined, { refreshAfterMs: 0 })).toMatchObject({ requests: [{ bought: true }] });
    expect(sent).toBe(2);
  });

  it('keeps every field of an answer, known or not, and reports its request id', async () => {
    const contents = {
      requestId: 'r',
      results: [{ id: 'https://a.example', title: 'A', ...odd }],
      statuses: [
        { id: 'https://a.example', status: 'success', source: 'cached', ...odd },
        { id: 'https://b.example', status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404, ...odd } },
      ],
      searchTime: 5,
      costDollars: { total: 0.001, ...odd },
      ...odd,
    };
    const { run } = await service(replying(200, contents));
    const urls = ['https://a.example', 'https://b.example'];
    const bought = await run('getContents', { urls });
    expect(bought).toMatchObject({ requests: [{ requestId: 'r', costDollars: 0.001, bought: true }] });
    expect(bought.data).toEqual(contents);
    const again = await run('getContents', { urls });
    expect(again).toMatchObject({ requests: [{ requestId: 'r', bought: false }] });
    expect(again.data).toEqual({ results: contents.results, statuses: contents.statuses });

    for (const name of ['search', 'answer', 'createAgentRun', 'getMonitor', 'listEvents'] as const) {
      const body = { ...examples[name].answer, ...odd };
      const other = await service(replying(200, body, { 'x-request-id': 'req-7' }));
      const result = await other.run(name);
      expect(result.data, name).toEqual(body);
      expect(result, name).toMatchObject({ requests: [{ requestId: 'req-7' }] });
    }
  });

  it('accepts beta features and headers, each with an answer of its own', async () => {
    const { server, run } = await service(replying(200, { id: 'task', status: 'running' }));
    const request = { input: { instructions: 'i' } };
    await run('createResearchTask', request);
    await run('createResearchTask', request, { beta: ['b-1'] });
    await run('getResearchTask', { id: 'task' }, { extraHeaders: { 'x-trace': 't' } });
    const options = { variant: 'v1' } as object;
    await expect(run('answer', { query: 'q' }, options)).rejects.toMatchObject({ type: 'InvalidRequest' });
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/research/tasks',
      '/research/tasks',
      '/research/tasks/task',
    ]);
    expect(server.requests[1]?.headers['exa-beta']).toBe('b-1');
    expect(server.requests[2]?.headers['x-trace']).toBe('t');
  });

  it.each([
    ['getContents', { urls: [1, 2] }, /urls\[0\]/],
    ['getContents', { urls: ['https://a.example', null] }, /urls\[1\]/],
    ['getContents', { urls: {} }, /urls/],
    ['getContents', { urls: 'https://a.example' }, /urls/],
    ['getContents', { ids: [1] }, /ids\[0\]/],
    ['getContents', undefined, /the request/],
    ['search', { query: 'q', includeDomains: {} }, /includeDomains/],
    ['search', { query: 'q', includeText: [1] }, /includeText\[0\]/],
    ['answer', { query: ['q'] }, /query/],
    ['findSimilar', { url: ['https://a.example'] }, /url/],
    ['createAgentRun', { query: 'q', dataSources: {} }, /dataSources/],
    ['createMonitor', { search: { query: 'q', includeDomains: {} } }, /search\.includeDomains/],
    ['listEvents', { types: {} }, /types/],
  ] as const)(
    'refuses %s with %j, which has no list where one is needed, before anything is sent or written',
    async (name, input, field) => {
      const { server, deps } = await service(replying(200, examples[name].answer));
      const before = await deps.journal.totals('');
      const files = filesIn(setting.folder);
      await expect(runActivity(deps, name, input as unknown as object)).rejects.toMatchObject({
        type: 'InvalidRequest',
        nonRetryable: true,
        message: expect.stringMatching(field),
      });
      expect(server.requests).toHaveLength(0);
      expect(await deps.journal.totals('')).toEqual(before);
      expect(filesIn(setting.folder)).toEqual(files);
    },
  );

  it('does not repeat a start whose answer was lost, unless a later call asks for it', async () => {
    const { server, run } = await service(({ head }, socket, nth) => {
      if (nth === 1) socket.destroy();
      else if (head.startsWith('GET')) socket.write(json(200, { object: 'list', data: [], hasMore: false }));
      else socket.write(json(200, examples.createAgentRun.answer));
    });
    const lost = { type: 'UnknownOutcome', nonRetryable: true };
    await expect(run('createAgentRun')).rejects.toMatchObject(lost);
    await expect(run('createAgentRun')).rejects.toMatchObject(lost);
    await expect(run('createAgentRun')).rejects.toThrow('refreshAfterMs: 0');
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(1);
    const { data } = await run('createAgentRun', undefined, { refreshAfterMs: 0 });
    expect(data).toMatchObject({ id: 'agent_run_1' });
  });

  it('finds a run whose start got no answer by its tag, and shares it with equal requests', async () => {
    let started: object | null = null;
    const { server, run } = await service(({ head, body }, socket) => {
      if (head.startsWith('GET')) return socket.write(json(200, { object: 'list', data: [started], hasMore: false }));
      started = { ...(examples.createAgentRun.answer as object), request: JSON.parse(body) };
      return socket.destroy();
    });
    const paid = [{ bought: true, estimated: true, costDollars: expect.toSatisfy((dollars) => dollars > 0) }];
    expect(await run('createAgentRun')).toMatchObject({ data: { id: 'agent_run_1' }, requests: paid });
    expect(await run('createAgentRun')).toMatchObject({ data: { id: 'agent_run_1' }, requests: [{ bought: false }] });
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(1);
  });
});

describe('an answer that is too large for a history', () => {
  const page = (url: string) => ({ id: url, url, title: 'Page', text: 'x'.repeat(200) });
  const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/'];
  const pages: Handler = (_request, socket) =>
    socket.write(
      json(200, {
        ...{ requestId: 'r', results: urls.map(page), costDollars: { total: 0.003 } },
        statuses: urls.map((id) => ({ id, status: 'success' })),
      }),
    );
  type Reader = (
    input: object,
    call?: CallOptions,
  ) => Promise<{ readonly data: { answers: object[]; next: string[] } }>;

  it('is a reference, whose answers any worker with the record reads, as many at once as fit', async () => {
    const { run, deps, server } = await service(pages);
    const reference = await run('getContents', { urls, text: true }, { maxInlineBytes: 600 });
    expect(reference).toMatchObject({ bytes: expect.any(Number), costDollars: 0.003 });
    const { landed } = reference as unknown as { readonly landed: readonly string[] };
    const readAnswer = createActivities(deps).readAnswer as unknown as Reader;
    const read = (input: object, call: CallOptions) => quiet().run(readAnswer, input, call) as ReturnType<Reader>;
    const first = await read({ landed }, { maxInlineBytes: 800 });
    expect(first.data).toMatchObject({
      answers: urls.slice(0, 2).map((url) => ({ unit: url, status: 'success', tag: null, data: page(url) })),
      next: landed.slice(2),
    });
    expect((await read({ landed: first.data.next }, {})).data).toMatchObject({
      answers: [{ unit: urls[2] }],
      next: [],
    });
    await expect(read({ landed }, { maxInlineBytes: 10 })).rejects.toMatchObject({ type: 'ResultTooLarge' });
    await expect(read({ landed: ['0'.repeat(64)] }, {})).rejects.toMatchObject({
      type: 'BodiesGone',
      nonRetryable: true,
    });
    await expect(read({ laned: landed }, {})).rejects.toThrow(/laned .*did you mean landed/);
    expect(server.requests).toHaveLength(1);
  });

  it('counts as bought only by the call that paid, also if another call waited for it', async () => {
    const { run } = await service(pages);
    const shares = (await Promise.all(
      [1, 2, 3].map(() => run('getContents', { urls, text: true })),
    )) as unknown as OperationResult<unknown>[];
    const paid = shares.flatMap(({ requests }) => requests).filter(({ bought }) => bought);
    expect(paid).toHaveLength(1);
    expect(shares.map(({ costDollars }) => costDollars).sort()).toEqual([0, 0, 0.003]);
  });

  it('counts as bought in a later attempt of the call that paid, and in no attempt of another call', async () => {
    const { deps } = await service(pages);
    const scheduledTimestampMs = Date.now();
    const attempt = async (activityId: string, nth: number) => {
      const info = {
        activityId,
        attempt: nth,
        scheduledTimestampMs,
        currentAttemptScheduledTimestampMs: Date.now() + 1,
      };
      const result = await runActivity(deps, 'getContents', { urls, text: true }, {}, quiet(info));
      return (result as unknown as OperationResult<unknown>).requests;
    };
    const [paid, free] = [[{ bought: true, costDollars: 0.003 }], [{ bought: false }]];
    expect(await attempt('payer', 1)).toMatchObject(paid);
    expect(await attempt('other', 2)).toMatchObject(free);
    expect(await attempt('payer', 2)).toMatchObject(paid);
  });
});

it('a research task is started with the beta tokens and headers of its call, which are part of its key', async () => {
  const { server, deps } = await service(replying(200, { id: 't', status: 'completed', data: { a: 1 } }));
  const { researchRun } = createActivities(deps);
  const step = { request: { input: { instructions: 'i' } }, askedAt: Date.now(), sliceMs: 5000 };
  await attempt(researchRun, { ...step, call: { beta: ['b-2026-01-01'], extraHeaders: { 'x-team': 'a' } } });
  await attempt(researchRun, { ...step, call: {} });
  const starts = server.requests.filter(({ body }) => body !== '');
  expect(starts.map(({ headers }) => [headers['exa-beta'], headers['x-team']])).toEqual([
    ['b-2026-01-01', 'a'],
    [undefined, undefined],
  ]);
});

describe('an activity of a free operation', () => {
  it('refuses a misspelt name or value, and sends both unchecked', async () => {
    const { server, run } = await service(replying(200, { data: [], hasMore: false }));
    for (const [name, input] of [
      ['listMonitors', { limt: 5 }],
      ['listMonitors', { status: 'activ' }],
      ['listEvents', { types: ['webset.item.create'] }],
      ['listAgentRuns', { curser: 'c' }],
    ] as const) {
      await expect(run(name, input)).rejects.toThrow(/did you mean .*unchecked: true/);
      await run(name, input, { unchecked: true });
    }
    expect(server.requests).toHaveLength(4);
  });

  it('may be tried again after a page whose end cannot be read, three times', async () => {
    const { deps } = await service(replying(200, { data: [{ id: 'a' }], nextCursor: 7 }));
    const attempts = await Promise.all(
      [1, 2, 3].map((attempt) =>
        runActivity(deps, 'listEvents', {}, {}, quiet({ attempt })).catch((error: unknown) => error),
      ),
    );
    expect(attempts).toMatchObject([
      { type: 'ResponseShape', nonRetryable: false },
      { type: 'ResponseShape', nonRetryable: false },
      { type: 'ResponseShape', nonRetryable: true, message: expect.stringContaining('nextCursor: expected string') },
    ]);
  });
});

it('an answer that must be fresh is bought once for all attempts of an activity', async () => {
  const { server, deps } = await service(replying(200, examples.search.answer));
  const info = { scheduledTimestampMs: Date.now() - 1000 };
  const attempt = (nth: number) =>
    runActivity(deps, 'search', examples.search.input, { refreshAfterMs: 0 }, quiet({ ...info, attempt: nth }));
  await attempt(1);
  // The second attempt starts after the first answer. If the age of answers counted from the start of an attempt, this answer would be too
  // old.
  const landed = Date.now();
  await expect.poll(() => Date.now() > landed).toBe(true);
  await attempt(2);
  expect(server.requests).toHaveLength(1);
});

describe('an activity that changes something at each call', () => {
  it.each(['createMonitor', 'triggerMonitor', 'batchMonitors'] as const)(
    '%s is sent once by all attempts of one activity, and again by the next activity',
    async (name) => {
      const { server, deps } = await service(replying(200, examples[name].answer));
      const info = { scheduledTimestampMs: Date.now(), attempt: 1 };
      const attempt = (more: object) => runActivity(deps, name, examples[name].input, {}, quiet({ ...info, ...more }));
      const first = await attempt({});
      expect((await attempt({ attempt: 2 })).data).toEqual(first.data);
      expect(server.requests).toHaveLength(1);
      await attempt({ activityId: 'another' });
      expect(server.requests).toHaveLength(2);
    },
  );

  it('is not sent again if its worker died before the answer came', async () => {
    const { server, deps } = await service(() => undefined);
    const info = { scheduledTimestampMs: Date.now() };
    const dying = runActivity(deps, 'triggerMonitor', { id: 'mon_1' }, {}, quiet(info)).catch(() => undefined);
    await expect.poll(() => server.requests.length).toBe(1);
    // The closed transport ends the attempt without an answer. A journal has the same state after the death of a process.
    await deps.transport.close();
    await dying;
    const again = { ...deps, transport: setting.worker({ baseUrl: server.url }).transport };
    await expect(
      runActivity(again, 'triggerMonitor', { id: 'mon_1' }, {}, quiet({ ...info, attempt: 2 })),
    ).rejects.toMatchObject({ type: 'UnknownOutcome', nonRetryable: true });
    expect(server.requests).toHaveLength(1);
  });
});

describe('a cancelled activity', () => {
  /** Cancels the activity as soon as its request has arrived. */
  async function cancelled(name: OperationName, reply: Handler = () => undefined): Promise<unknown> {
    const environment = quiet();
    const { deps } = await service((request, socket, nth) => {
      environment.cancel();
      reply(request, socket, nth);
    });
    return runActivity(deps, name, examples[name].input, {}, environment);
  }

  it('of a free read is aborted and ends as cancelled', async () => {
    await expect(cancelled('getMonitor')).rejects.toBeInstanceOf(CancelledFailure);
  });

  it('that changes something may still land', async () => {
    expect(await cancelled('triggerMonitor', replying(200, { triggered: true }))).toMatchObject({
      data: { triggered: true },
    });
  });
});

describe('createMonitor', () => {
  const created = { ...examples.createMonitor.answer, webhookSecret: 'canary-secret' };
  const secrets = (changes: Partial<NonNullable<ActivityDeps['secrets']>>) => ({
    put: async () => undefined,
    get: async () => null,
    remove: async () => false,
    names: async () => [],
    ...changes,
  });
  const create = (deps: ActivityDeps) => runActivity(deps, 'createMonitor', examples.createMonitor.input);

  it('is refused before it is sent if its secret could not be stored', async () => {
    const { server, deps } = await service(replying(201, created));
    writeFileSync(setting.secretFile, '{}');
    chmodSync(setting.secretFile, 0o644);
    await expect(create(deps)).rejects.toMatchObject({ type: 'InvalidRequest', nonRetryable: true });
    expect(server.requests).toHaveLength(0);
  });

  it('never creates a second monitor if the secret cannot be stored, and names the first one', async () => {
    const { server, deps } = await service(replying(201, created));
    const put = async () => {
      throw new Error('no space left');
    };
    const failure = await create({ ...deps, secrets: secrets({ put }) }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ type: 'SecretLost', nonRetryable: true });
    expect(String(failure)).toMatch(/mon_1.*no space left/);
    expect(String(failure)).not.toContain('canary-secret');
    expect(server.requests).toHaveLength(1);
  });

  it('is refused before it is sent if the secret store can be read but not written', async () => {
    const { server, deps } = await service(replying(201, created));
    const remove = async () => {
      throw new Error('read-only file system');
    };
    await expect(create({ ...deps, secrets: secrets({ remove }) })).rejects.toThrow('read-only file system');
    expect(server.requests).toHaveLength(0);
  });

  it('retries to store a received secret until its store accepts it', async () => {
    const { deps } = await service(replying(201, created));
    const kept: Fields = {};
    let tries = 0;
    const put = async (name: string, secret: { reveal(): string }) => {
      if (++tries < 3) throw new Error('busy');
      kept[name] = secret.reveal();
    };
    expect((await create({ ...deps, secrets: secrets({ put }) })).data).not.toHaveProperty('webhookSecret');
    expect(kept).toEqual({ 'webhook/mon_1': 'canary-secret' });
  });
});
