import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import type { SecretStore } from '../../../src/core/connections/secret-store.js';
import { examples } from '../api/examples.js';
import { answer, json, type RawServer, rawServer } from '../api/raw-server.js';
import { failureOf } from '../failure-of.js';
import { ActivitySetting, runActivity } from './activity-setting.js';

const replies = new Map<
  string,
  { readonly first: Buffer; readonly second: Buffer; readonly isStart: boolean; times: number[] }
>();
let server: RawServer;
let setting: ActivitySetting;
function open(): void {
  beforeAll(async () => {
    setting = await ActivitySetting.open();
    server = await rawServer(({ path, head }, socket) => {
      const [, id = ''] = path.split('/');
      const reply = replies.get(id);
      if (!reply) return socket.destroy();
      socket.write(reply.times.length === 0 ? reply.first : reply.second);
      // Reads of the list of runs are free.
      if (!(reply.isStart && head.startsWith('GET'))) reply.times.push(Date.now());
    });
  });
  afterAll(async () => {
    await setting.close();
    await server.close();
  });
}

/** The expected result of a row. `later`: the wait in ms that the service asked for, or null. */
type Meaning =
  | { readonly is: 'final'; readonly type: string }
  /** A 429 because of the rate limit: all callers wait. */
  | { readonly is: 'limited'; readonly later: number | null }
  /** A 429 because all slots are taken: only this call waits. */
  | { readonly is: 'full'; readonly later: number | null }
  /** A temporary failure that may have been charged. */
  | { readonly is: 'lost'; readonly later: number | null }
  /** A temporary failure that was never charged. */
  | { readonly is: 'unwell'; readonly later: number | null };
type Row = readonly [name: string, reply: Buffer, meaning: Meaning];

const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
function forms(status: number, tag: string, meaning: Meaning): Row[] {
  const bodies: [string, unknown][] = [
    ['standard', { requestId: 'r', error: 'm', tag }],
    ['agent', { error: { type: 'T', code: tag, message: 'm' } }],
    ['nested', { error: { type: 'T', code: tag, message: 'm', detail: 1 }, requestId: 'r' }],
    ['bare', { error: 'm' }],
  ];
  const heads: [string, Record<string, string>, number | null][] = [
    ['', {}, null],
    ['Retry-After: 1', { 'retry-after': '1' }, 1000],
    ['Retry-After: a date', { 'retry-after': 'Sun, 06 Nov 1994 08:49:38 GMT', date }, 1000],
    ['Retry-After: soon', { 'retry-after': 'soon' }, null],
  ];
  const later = (ms: number | null, own = meaning): Meaning => (own.is === 'final' ? own : { ...own, later: ms });
  // Any server refuses with 403, so without the service's own words the request may not have reached the service.
  const unsigned = status === 403 ? waits('unwell') : meaning;
  return [
    ...bodies.flatMap(([form, body]) =>
      heads
        .slice(0, meaning.is === 'final' ? 2 : 4)
        .map(
          ([head, headers, ms]): Row => [
            `${status} ${form} ${head}`,
            json(status, body, headers),
            later(ms, form === 'bare' ? unsigned : meaning),
          ],
        ),
    ),
    [
      `${status} gateway`,
      answer(status, '<h1>Bad</h1>', { 'content-type': 'text/html' }),
      // A page that refuses the request is not the service's: the request did not reach it.
      status >= 400 && status < 500 && ![408, 413, 414, 429].includes(status) ? waits('unwell') : later(null),
    ],
    [`${status} empty`, answer(status, ''), later(null, unsigned)],
  ];
}

const waits = (is: 'limited' | 'full' | 'lost' | 'unwell', later: number | null = null): Meaning => ({ is, later });
const final = (type: string): Meaning => ({ is: 'final', type });
const busy = { error: { type: 'RATE_LIMIT_ERROR', code: 'CONCURRENCY_LIMIT_REACHED', message: 'm' } };
const limited = (seconds: number): Row => [
  `429 for ${seconds} s`,
  json(429, { error: 'm', tag: 'RATE_LIMIT_EXCEEDED' }, { 'retry-after': String(seconds) }),
  waits('limited', seconds * 1000),
];
const challenge = { error: 'm', tag: 'X402_PAYMENT_REQUIRED', accepts: [{ scheme: 'exact' }] };

const rows: readonly Row[] = [
  ...forms(400, 'INVALID_REQUEST_BODY', final('InvalidRequest')),
  ...forms(401, 'INVALID_API_KEY', final('Unauthorized')),
  ...forms(402, 'NO_MORE_CREDITS', final('PaymentRequired')),
  ...forms(402, 'API_KEY_BUDGET_EXCEEDED', final('PaymentRequired')),
  ['402 challenge', json(402, challenge), final('ApiKeyMissing')],
  ...forms(403, 'FEATURE_DISABLED', final('Unauthorized')),
  ...forms(404, 'NOT_FOUND', final('NotFound')),
  ...forms(409, 'DUPLICATE', final('InvalidRequest')),
  ...forms(422, 'FETCH_DOCUMENT_ERROR', final('InvalidRequest')),
  ...forms(429, 'RATE_LIMIT_EXCEEDED', waits('limited')),
  limited(0),
  limited(40),
  limited(3600),
  limited(3601),
  limited(31_000_000),
  [
    '429 until a Unix time',
    json(429, { error: 'm', tag: 'RATE_LIMIT_EXCEEDED' }, { 'retry-after': '1900000000' }),
    waits('limited'),
  ],
  ['429 all slots taken', json(429, busy), waits('full')],
  ['429 all slots taken, Retry-After: 1', json(429, busy, { 'retry-after': '1' }), waits('full', 1000)],
  ...forms(500, 'INTERNAL_ERROR', waits('lost')),
  ...forms(501, 'UNABLE_TO_GENERATE_RESPONSE', final('InvalidRequest')),
  ...forms(502, 'DEFAULT_ERROR', waits('lost')),
  ...forms(503, 'SERVICE_OVERLOADED', waits('unwell')),
  ...forms(504, 'TIMEOUT', waits('lost')),
  ['200 of another shape', json(200, [1]), waits('lost')],
  ['200 HTML', answer(200, '<html></html>'), waits('lost')],
];

/**
 * What a test saw of a row. `end`: the type of the failure, or `done`. `delay`: the wait before the next attempt. `blocked`: the wait of
 * all callers.
 */
interface Seen {
  readonly end: string;
  readonly requests: number;
  readonly delay: number | null;
  readonly blocked: number | null;
}

/** A store of secrets without a file; with a file, hundreds of calls would wait for one another. */
const secrets: SecretStore = {
  put: async () => undefined,
  get: async () => null,
  remove: async () => false,
  names: async () => [],
};

let used = 0;
async function see(name: OperationName, [, first]: Row): Promise<Seen> {
  const id = `case${used++}`;
  const times: number[] = [];
  // A start whose answer was lost is searched for in the list of runs.
  const isStart = name === 'createAgentRun';
  const second = json(200, isStart ? { object: 'list', data: [], hasMore: false } : examples[name].answer);
  replies.set(id, { first, second, isStart, times });
  const deps = { ...setting.worker({ baseUrl: `${server.url}/${id}`, connections: 2 }, id), secrets };
  const error: unknown = await failureOf(runActivity(deps, name, examples[name].input));
  const { blockedUntil } = await deps.limiter.view();
  await deps.transport.close();
  await deps.limiter.close();
  if (error !== null && !(error instanceof ApplicationFailure)) throw error;
  const failure = error && `${error.nonRetryable ? 'for good' : (error.category ?? 'ERROR')} ${error.type}`;
  return {
    end: failure ?? 'done',
    requests: times.length,
    delay: error?.nextRetryDelay === undefined || error.nextRetryDelay === null ? null : Number(error.nextRetryDelay),
    blocked: blockedUntil === null ? null : blockedUntil - Date.now(),
  };
}

/** The required end of a row. Each attempt of an activity sends one request; Temporal's retry policy decides about the next. */
function end(name: OperationName, meaning: Meaning): readonly [string, number] {
  const { retry } = operationTable[name];
  if (meaning.is === 'final') return [`for good ${meaning.type}`, 1];
  if (meaning.is === 'full' && name === 'createAgentRun') return ['BENIGN ConcurrencyLimited', 1];
  if (meaning.is === 'limited' || meaning.is === 'full') return ['BENIGN RateLimited', 1];
  if (meaning.is === 'lost' && (retry === 'check' || retry === 'adopt')) return ['for good UnknownOutcome', 1];
  return ['ERROR ServiceUnavailable', 1];
}

const near = (value: number | null, least: number, most: number) => value !== null && value >= least && value <= most;

/** The waits of a row that are wrong; empty if all are right. */
function wrongWaits(meaning: Meaning, seen: Seen): string[] {
  const wrong: string[] = [];
  const later = meaning.is === 'final' ? null : meaning.later;
  if (meaning.is === 'limited') {
    const most = later ?? 125;
    // A short block may be over before it is read.
    if (most > 5000 ? !near(seen.blocked, most - 5000, most) : (seen.blocked ?? 0) > most) wrong.push('block');
  } else if (seen.blocked !== null) wrong.push('a block of the team');
  const waiting = seen.end.startsWith('BENIGN') || (seen.end.startsWith('ERROR') && later !== null);
  if (!waiting && seen.delay !== null) wrong.push('a delay');
  if (waiting && later !== null && seen.delay !== later) wrong.push('delay');
  if (waiting && later === null && !near(seen.delay, 1, 1500)) wrong.push('no delay');
  return wrong;
}

/** One row for each class of failure: the first row of each status, and all rows that begin with `200` or `429 all`. */
export const oneOfEachClass = rows.filter(
  ([name], index) =>
    index === 0 ||
    name.split(' ', 1)[0] !== rows[index - 1]?.[0].split(' ', 1)[0] ||
    name.startsWith('200') ||
    name.startsWith('429 all'),
);
export const everyForm = rows;

/** Tests every operation as an activity on rows of the failure map: the service fails once and then would succeed. */
export function operationFailures(rows: readonly Row[]): void {
  open();
  describe('an activity treats each failure by the failure map: type, retry, delay and block', () => {
    it.concurrent.each(Object.keys(operationTable) as OperationName[])('%s', { timeout: 60_000 }, async (name) => {
      const found = await Promise.all(rows.map((row) => see(name, row)));
      const shown = found.map((seen, index) => {
        const [label, , meaning] = rows[index] as Row;
        return [label, seen.end, seen.requests, ...wrongWaits(meaning, seen)];
      });
      expect(shown).toEqual(rows.map(([label, , meaning]) => [label, ...end(name, meaning)]));
    });
  });
}
