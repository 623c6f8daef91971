import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import type { SecretStore } from '../../../src/core/connections/secret-store.js';
import { ActivitySetting, runActivity } from '../../support/activities/activity-setting.js';
import { examples } from '../../support/api/examples.js';
import { answer, json, rawServer } from '../../support/api/raw-server.js';
import { failureOf } from '../../support/failure-of.js';
import { ofFile } from '../../support/of-file.js';

const replies = new Map<
  string,
  { readonly first: Buffer; readonly second: Buffer; readonly isStart: boolean; times: number[] }
>();
const setting = ofFile(() => ActivitySetting.open());
const server = ofFile(() =>
  rawServer(({ path, head }, socket) => {
    const [, id = ''] = path.split('/');
    const reply = replies.get(id);
    if (!reply) return socket.destroy();
    socket.write(reply.times.length === 0 ? reply.first : reply.second);
    // Reads of the list of runs are free.
    if (!(reply.isStart && head.startsWith('GET'))) reply.times.push(Date.now());
  }),
);

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

const waits = (is: 'limited' | 'full' | 'lost' | 'unwell', later: number | null = null): Meaning => ({ is, later });
const final = (type: string): Meaning => ({ is: 'final', type });
const busy = { error: { type: 'RATE_LIMIT_ERROR', code: 'CONCURRENCY_LIMIT_REACHED', message: 'm' } };
const challenge = { error: 'm', tag: 'X402_PAYMENT_REQUIRED', accepts: [{ scheme: 'exact' }] };
const plain = (status: number, tag: string, meaning: Meaning): Row => [
  `${status} ${tag}`,
  json(status, { requestId: 'r', error: 'm', tag }),
  meaning,
];
const limited = (retryAfter: string, later: number | null): Row => [
  `429 with Retry-After: ${retryAfter}`,
  json(429, { error: 'm', tag: 'RATE_LIMIT_EXCEEDED' }, { 'retry-after': retryAfter }),
  waits('limited', later),
];

/** One failure of each class; the unit tests of the operations have every form of each. */
const rows: readonly Row[] = [
  plain(400, 'INVALID_REQUEST_BODY', final('InvalidRequest')),
  plain(401, 'INVALID_API_KEY', final('Unauthorized')),
  plain(402, 'NO_MORE_CREDITS', final('PaymentRequired')),
  ['402 challenge', json(402, challenge), final('ApiKeyMissing')],
  plain(403, 'FEATURE_DISABLED', final('Unauthorized')),
  ['403 gateway', answer(403, '<h1>Bad</h1>'), waits('unwell')],
  plain(404, 'NOT_FOUND', final('NotFound')),
  plain(409, 'DUPLICATE', final('InvalidRequest')),
  plain(422, 'FETCH_DOCUMENT_ERROR', final('InvalidRequest')),
  plain(429, 'RATE_LIMIT_EXCEEDED', waits('limited')),
  ...[0, 40, 3600, 3601, 31_000_000].map((seconds) => limited(String(seconds), seconds * 1000)),
  limited('1900000000', null),
  ['429 all slots taken', json(429, busy), waits('full')],
  ['429 all slots taken, Retry-After: 1', json(429, busy, { 'retry-after': '1' }), waits('full', 1000)],
  plain(500, 'INTERNAL_ERROR', waits('lost')),
  ['500 with Retry-After: 1', json(500, { error: 'm' }, { 'retry-after': '1' }), waits('lost', 1000)],
  plain(501, 'UNABLE_TO_GENERATE_RESPONSE', final('InvalidRequest')),
  plain(502, 'DEFAULT_ERROR', waits('lost')),
  plain(503, 'SERVICE_OVERLOADED', waits('unwell')),
  plain(504, 'TIMEOUT', waits('lost')),
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
