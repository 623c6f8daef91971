import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { watchWalk } from '../../../src/cli/events/walk.js';
import { runEnrich } from '../../../src/cli/rows/enrich.js';
import { checkConnection, checkWarehouse } from '../../../src/cli/shared/check-connection.js';
import type { Context } from '../../../src/cli/shared/command.js';
import { watchInterrupts } from '../../../src/cli/shared/command.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { settings } from '../../../src/cli/shared/session.js';
import { scrubber } from '../../../src/cli/shared/terminal.js';
import { Secret } from '../../../src/core/connections/secret.js';
import type { WalkProgress, WalkSummary } from '../../../src/core/workflow-result-schemas.js';
import { parseAddress } from '../../../src/postgres/index.js';
import { CsvError } from '../../../src/rows/csv-error.js';
import { JobFailed, UsageError } from '../../../src/worker/config/runtime-types.js';
import type { JobHandle } from '../../../src/worker/control/job-handle.js';
import type { RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import {
  fakeContext,
  fakeHandle,
  fakeRuntime,
  listen,
  plan,
  progress,
  request,
  summary,
} from '../../support/cli/fake-runtime.js';
import { fakeWaits } from '../../support/cli/fake-waits.js';
import { ofFile } from '../../support/of-file.js';

const service = ofFile(listen);
const manner = { dryRun: false, yes: false, asksAlways: false };
const run = (context: Context, changes: Partial<typeof manner> = {}, csv: string | null = null) =>
  runEnrich(context, settings(context, {}), { ...request, csv }, { ...manner, ...changes });

/** Methods of a runtime whose job runs until the command is ended. */
const endless: RuntimeAnswers = { start: async () => fakeHandle() };

describe('enrich', () => {
  it('runs the job to its end, keeps stdout for data and names its service', async () => {
    const { runtime, calls } = fakeRuntime();
    const { context, out, err } = fakeContext(runtime);
    expect(await run(context)).toBe(0);
    expect(out()).toBe('');
    expect(err()).toContain(
      `brands: 200 rows, 200 URLs to buy in 2 requests for about $0.20; on the real service at ${service.url}.`,
    );
    expect(err()).toContain('Done: 200 rows of brands');
    expect(calls).toEqual(['plan', 'start', 'unknownOutcomes', 'close drain']);
  });

  it('starts nothing for a complete job, and writes the requested CSV again', async () => {
    const { runtime, calls } = fakeRuntime({
      plan: async (asked) => ({ ...plan, request: asked, status: 'complete', toBuy: 0, requests: 0 }),
    });
    const { context, err } = fakeContext(runtime);
    expect(await run(context, {}, 'out.csv')).toBe(0);
    expect(err()).toContain('nothing was left to buy');
    expect(err()).toContain('/data/out.csv');
    expect(calls).toEqual(['plan', 'export', 'summary', 'unknownOutcomes', 'close drain']);
  });

  it('writes the CSV if the job itself did not', async () => {
    const { runtime, calls } = fakeRuntime();
    const { context, err } = fakeContext(runtime);
    await run(context, {}, 'out.csv');
    expect(calls).toContain('export');
    expect(err()).toContain('Written: /data/out/brands.duckdb, /data/out.csv');
  });

  it('writes its own CSV if the job, which another command started, wrote another', async () => {
    const other = { ...summary, csv: '/data/other.csv' };
    const { runtime, calls } = fakeRuntime({ start: async () => fakeHandle({ result: async () => other }) });
    const { context, err } = fakeContext(runtime);
    await run(context, {}, 'out.csv');
    expect(calls).toContain('export');
    expect(err()).toContain('Written: /data/out/brands.duckdb, /data/out.csv');
  });

  it('starts nothing that it buys if the service cannot be reached', async () => {
    const away = (toBuy: number) => {
      const { runtime, calls } = fakeRuntime({ plan: async () => ({ ...plan, toBuy }) });
      const { context } = fakeContext(runtime);
      return { calls, ended: run({ ...context, env: { ...context.env, SEARCHFLOW_BASE_URL: 'http://127.0.0.1:9' } }) };
    };
    const buys = away(200);
    await expect(buys.ended).rejects.toThrow('cannot reach 127.0.0.1:9: connection refused');
    expect(buys.calls).toEqual(['plan', 'close drain']);
    const loads = away(0);
    expect(await loads.ended).toBe(0);
    expect(loads.calls).toContain('start');
  });

  it('ends with 4 if the job waits for credits, and shows the reason and the command to resume', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const paused = {
        ...progress,
        phase: 'paused',
        pausedFor: 'credits',
        message: 'POST /contents: 402, no credits left',
      } as const;
      const handle = fakeHandle({
        progress: async () => {
          vi.advanceTimersByTime(1500);
          return { progress: paused, running: [] };
        },
      });
      const { runtime, asked } = fakeRuntime({ start: async () => handle });
      const { context, err } = fakeContext(runtime);
      expect(await run(context)).toBe(4);
      // The paused job waits for a person, so the command releases it.
      expect(asked).toContainEqual(['release', 'searchflow-brands-1']);
      expect(err()).toContain('Paused (credits): POST /contents: 402, no credits left');
      expect(err()).toContain('To resume after fixing this:\n  searchflow enrich brands.csv');
    } finally {
      vi.useRealTimers();
    }
  });

  it.each(['well', 'badly'])('shows nothing of a poll in flight when the job ended %s', async (how) => {
    let answer: (shown: Awaited<ReturnType<JobHandle['progress']>>) => void = () => undefined;
    const late = new Promise<Awaited<ReturnType<JobHandle['progress']>>>((resolve) => {
      answer = resolve;
    });
    const result = async () => {
      if (how === 'badly') throw new JobFailed('the warehouse is damaged');
      return summary;
    };
    const handle = fakeHandle({ progress: () => late, result });
    const { context, err } = fakeContext(fakeRuntime({ start: async () => handle }).runtime);
    await run(context).catch(() => null);
    const said = err();
    answer({ progress, running: [] });
    await new Promise(setImmediate);
    expect(err()).toBe(said);
  });
});

it('reports for a walk that another client cancelled that nothing is lost, and how to resume it', async () => {
  const { runtime } = fakeRuntime();
  const cause = Object.assign(new Error('cancelled'), { name: 'CancelledFailure' });
  const handle = {
    job: 'events-sync-1',
    workflowId: 'searchflow-events-sync-1',
    progress: () => Promise.reject(new Error('no worker answered the query')),
    result: () => Promise.reject(new JobFailed('it was cancelled', { cause })),
  };
  const session = { ...fakeContext(runtime).context, runtime, stopped: new AbortController().signal };
  await expect(watchWalk(session, handle)).rejects.toThrow(
    'it was cancelled. Loaded events are kept; run its events command to resume.',
  );
});

describe('the end of a walk', () => {
  const counts = { pages: 1, events: 5, added: 5, changed: 0, windows: 1 };
  const ended: WalkSummary = {
    ...{ ...counts, stream: 'sync', into: 'e.duckdb', phase: 'done', message: null, watermark: null, seconds: 1 },
  };
  const differs = (changes: object) => ({
    ...{ ...ended, verified: { missing: 0, changed: 0, gone: 0, days: [], ...changes } },
  });
  const walking = (changes: Partial<Parameters<typeof watchWalk>[1]>, strict = false) => {
    const { runtime, asked } = fakeRuntime();
    const { context, err } = fakeContext(runtime);
    const handle = {
      ...{ job: 'events-sync-1', workflowId: 'searchflow-events-sync-1' },
      progress: () => Promise.reject(new Error('no worker answered the query')),
      result: async () => ended,
      ...changes,
    };
    const session = { ...context, runtime, stopped: new AbortController().signal };
    return { code: watchWalk(session, handle, { strict }), asked, err };
  };

  it.each<[string, WalkSummary, boolean, number]>([
    ['is 0 without differences', differs({}), true, 0],
    ['is 0 if all differences were repaired', differs({ missing: 1, changed: 2 }), false, 0],
    ['is 1 with --strict if differences were repaired', differs({ changed: 2 }), true, 1],
    ['is 1 if events are gone at the service', differs({ gone: 1 }), false, 1],
    ['is 6 for a stopped run', { ...ended, phase: 'stopped', message: 'no credits' }, false, 6],
    ['is 0 for a walk that is no verification', ended, true, 0],
  ])('%s', async (_what, summary, strict, code) => {
    expect(await walking({ result: async () => summary }, strict).code).toBe(code);
  });

  it('that waits for a person is released by this command', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const paused: WalkProgress = {
      ...counts,
      phase: 'paused',
      pausedFor: 'key',
      message: 'POST /events: 401',
      ...{ stream: 'sync', windowsDone: 0, share: null, etaMs: null, startedAt: 0 },
    };
    const progress = async () => {
      vi.advanceTimersByTime(1500);
      return { progress: paused, running: [] };
    };
    const { code, asked, err } = walking({ progress, result: () => new Promise(() => undefined) });
    expect(await code).toBe(4);
    expect(asked).toContainEqual(['release', 'searchflow-events-sync-1']);
    expect(err()).toContain('Paused (key): POST /events: 401');
    vi.useRealTimers();
  });
});

describe('Ctrl-C', () => {
  /** Starts a command, and waits until it calls this method of the runtime. */
  async function begun(changes: RuntimeAnswers = {}, called = 'start') {
    const { runtime, calls } = fakeRuntime({ ...endless, ...changes });
    const { context, err, press } = fakeContext(runtime);
    const code = run(context);
    await expect.poll(() => calls).toContain(called);
    return { code, calls, err, press };
  }

  it('drains, shows the number of paid requests and the command to resume, and ends with 130 (fault 25)', async () => {
    const { code, calls, err, press } = await begun();
    press();
    expect(await code).toBe(130);
    expect(err()).toContain('waiting up to 10 s for 3 paid requests in flight; press Ctrl-C again to stop now');
    expect(err()).toContain('Stopped. To resume:\n  searchflow enrich brands.csv');
    expect(calls.filter((call) => call === 'stop' || call.startsWith('close'))).toEqual(['stop', 'close drain']);
  });

  /** Sends two signals to a command whose runtime does not finish draining. `inFlight`: number of paid requests in flight. */
  async function pressTwice(inFlight: number) {
    const { code, calls, err, press } = await begun({
      inFlight: () => inFlight,
      close: (mode) => (mode === 'now' ? Promise.resolve() : new Promise(() => undefined)),
    });
    press();
    await expect.poll(() => calls).toContain('close drain');
    press();
    expect(await code).toBe(130);
    return { calls, said: err() };
  }

  it('aborts requests at the second one', async () => {
    const { calls, said } = await pressTwice(3);
    expect(calls.filter((call) => call.startsWith('close'))).toEqual(['close drain', 'close now']);
    expect(said).toContain('Stopped at once; interrupted requests may become unknown outcomes.');
  });

  it('does not mention unknown outcomes if the aborted requests were free', async () => {
    const { said } = await pressTwice(0);
    expect(said).toContain('Stopped. To resume:');
    expect(said).not.toContain('unknown outcomes');
  });

  it('ends after at most 12 s, even if nothing answers', async () => {
    const never = () => new Promise<never>(() => undefined);
    const { code, calls, press } = await begun({ stop: never, close: never });
    fakeWaits();
    let ended = false;
    void code.then(() => {
      ended = true;
    });
    press();
    await vi.advanceTimersByTimeAsync(11_900);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(await code).toBe(130);
    expect(calls.filter((call) => call === 'stop' || call.startsWith('close'))).toEqual([
      'stop',
      'close drain',
      'close now',
    ]);
  });

  it('ends with 143 on SIGTERM', async () => {
    const { code, press } = await begun();
    press('SIGTERM');
    expect(await code).toBe(143);
  });

  it('only detaches if another process works on the job (fault 28)', async () => {
    const { code, calls, err, press } = await begun({ clientOnly: 'folder', owned: async () => [] });
    press();
    expect(await code).toBe(130);
    expect(err()).toContain('Detached. brands-1 continues in the process that runs it');
    expect(calls).not.toContain('stop');
    expect(err()).not.toContain('Stopping');
  });

  it('reports that nothing was bought if it comes during the plan', async () => {
    const { code, err, press } = await begun({ plan: () => new Promise(() => undefined) }, 'plan');
    press();
    expect(await code).toBe(130);
    expect(err()).toContain('Stopped; nothing was bought.');
  });

  it('counts once if npm passes the same key press on', async () => {
    const source = new EventEmitter();
    let now = 0;
    const interrupts = watchInterrupts(source, () => now);
    let again = false;
    void interrupts.second.then(() => {
      again = true;
    });
    source.emit('SIGINT', 'SIGINT');
    now = 20;
    source.emit('SIGINT', 'SIGINT');
    expect(await interrupts.first).toBe('SIGINT');
    expect(again).toBe(false);
    now = 900;
    source.emit('SIGINT', 'SIGINT');
    expect(await interrupts.second).toBe('SIGINT');
    interrupts.close();
    expect(source.listenerCount('SIGINT')).toBe(0);
  });
});

describe('the check of the service', () => {
  it.each([
    [
      'http://127.0.0.1:9',
      /^The service: cannot reach 127\.0\.0\.1:9: connection refused \[ECONNREFUSED\]; the address is set by SEARCHFLOW_BASE_URL\. Nothing was bought\.$/,
    ],
    ['http://no-such-host.invalid', /cannot reach no-such-host\.invalid: (the host is not in DNS|DNS does not answer)/],
  ])('reports in a sentence that %s is not there (fault 14)', async (baseUrl, sentence) => {
    await expect(checkConnection({ service: 'live', baseUrl })).rejects.toThrow(sentence);
  });

  it('connects without sending anything, and not at all for the sandbox', async () => {
    await expect(checkConnection({ service: 'live', baseUrl: service.url })).resolves.toBeUndefined();
    await expect(checkConnection({ service: 'sandbox', baseUrl: 'http://127.0.0.1:9' })).resolves.toBeUndefined();
  });
});

describe('the check of the warehouse', () => {
  const database = (url: string) => ({ url: new Secret(url), shown: parseAddress(url, 'searchflow').shown });

  it.each([
    [
      ['postgres://ann:canary-pw@127.0.0.1:9/dw', '--into'],
      /127\.0\.0\.1:9\/dw cannot be reached: connect ECONNREFUSED/,
    ],
    [
      ['postgres://ann:canary-pw@no-such-host.invalid/dw?sslmode=require', null],
      /no-such-host\.invalid:5432\/dw cannot be reached: /,
    ],
  ] as const)('reports after a wait that nothing listens at %j, and the remedy', async ([url, flag], sentence) => {
    const said: string[] = [];
    const config = { warehouse: database(url), say: (text: string) => said.push(text) };
    const error = await checkWarehouse(config, flag && url, 400).catch((reason: unknown) => String(reason));
    expect(error).toMatch(sentence);
    const setting = flag ?? 'SEARCHFLOW_WAREHOUSE_URL';
    expect(error).toContain(`. Start it, or correct its address (${setting}). Nothing was started or bought.`);
    expect(said).toEqual([expect.stringContaining(`Waiting for the database ${config.warehouse.shown}: `)]);
    expect(`${error} ${said}`).not.toMatch(/canary|\bann\b/);
  });

  it('connects to no database if rows go into a file', async () => {
    const config = { warehouse: database('postgres://127.0.0.1:9/dw'), say: () => undefined };
    await expect(checkWarehouse(config, 'out.duckdb', 0)).resolves.toBeUndefined();
    await expect(checkWarehouse({ ...config, warehouse: null }, null, 0)).resolves.toBeUndefined();
  });
});

describe('errors of a command', () => {
  it.each([
    [
      new UsageError('url-column-unknown', 'There is no column url.'),
      'There is no column url.',
      2,
      'url-column-unknown',
    ],
    [new CsvError('json-invalid', 'line 3, column 2: no'), 'line 3, column 2: no', 2, 'json-invalid'],
    [new JobFailed('The service refuses the key.'), 'The service refuses the key.', 1, 'job-failed'],
    [
      Object.assign(new Error('ENOSPC: x'), { code: 'ENOSPC', path: '/data/out\u001b[2J' }),
      'The disk is full: /data/out.',
      1,
      'disk-full',
    ],
    [
      Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 80 }),
      'The port is in use: 80.',
      1,
      'port-in-use',
    ],
    [new Error('title \u001b]0;evil\u0007 here'), 'title  here', 1, 'unexpected'],
    ['just text', 'just text', 1, 'unexpected'],
  ])('are one sentence, an exit code and an error code', (error, text, code, errorCode) => {
    expect(failureOf(error)).toMatchObject({ message: text, exitCode: code, code: errorCode });
  });

  it('never contain the key, in any form (fault 55)', () => {
    const scrub = scrubber({ EXA_API_KEY: 'se cret/"1', SEARCHFLOW_API_KEY: 'canary-5f2e91c4' });
    const text = scrub(
      `a canary-5f2e91c4 b ${encodeURIComponent('se cret/"1')} c ${JSON.stringify({ key: 'se cret/"1' })}`,
    );
    expect(text).toBe('a [redacted] b [redacted] c {"key":"[redacted]"}');
    const database = scrubber({
      SEARCHFLOW_STORE: 'postgres://ann:canary%2Fstore@db/etl',
      SEARCHFLOW_WAREHOUSE_URL: 'postgres://postgres:postgres@localhost/postgres',
      PGPASSWORD: 'canary-pg',
    });
    expect(
      database("to 'postgres://ann:canary/store@db/etl' as canary/store, canary%2Fstore, canary-pg"),
    ).not.toContain('canary');
    expect(database("--into 'postgresql://bob:p@ss@db:5432/dw?schema=raw'")).toBe(
      "--into 'postgresql://[redacted]@db:5432/dw?schema=raw'",
    );
    const inQuery = scrubber({ SEARCHFLOW_STORE: 'postgres:///etl?host=/run/pg&user=ann&password=canary%2Fstore' });
    expect(inQuery('canary/store; postgres://db/x?user=canary&password=canary&sslmode=require')).toBe(
      '[redacted]; postgres://db/x?user=[redacted]&password=[redacted]&sslmode=require',
    );
    expect(inQuery('https://a.com/?user=ann')).toBe('https://a.com/?user=ann');
    expect(database('postgres://localhost:5432/postgres')).toBe('postgres://localhost:5432/postgres');
    const { context, out, err } = fakeContext(fakeRuntime().runtime);
    context.terminal.say('Bearer canary-5f2e91c4');
    context.terminal.data('{"key":"canary-5f2e91c4"}');
    expect(out() + err()).not.toContain('canary');
  });
});
