import { callWithRetries } from '../../activities/call/call-in-turn.js';
import { redactAnswer } from '../../activities/call/landing.js';
import { mapConcurrent } from '../../activities/call/map-concurrent.js';
import type { Client } from '../../api/client.js';
import { type KeyUsage, keyUsageEndpoint } from '../../api/endpoints/key-usage.js';
import { type OperationName, operationTable } from '../../api/operations.js';
import { createTransport, type SendOptions } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { CodedError } from '../../core/errors/coded-error.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import { flatProfile } from '../../core/limiter/rate.js';
import type { BilledDay } from '../../core/purchase/reconcile.js';
import { toMicros } from '../../core/text/money.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { BillSetting } from '../config/service-setting.js';

/** Makes a free call that may be repeated, in its turn of the team's rate. Returns the answer without secrets. */
export type FreeCall = <Name extends OperationName>(
  name: Name,
  ...call: Parameters<Client[Name]>
) => Promise<Awaited<ReturnType<Client[Name]>>['data']>;

/** Makes free calls to the service, without Temporal. After a retryable failure, a call is repeated until `signal` is aborted. */
export async function withFreeCalls<T>(
  { baseUrl, apiKey, wire, say }: RuntimeConfig,
  limiter: Limiter,
  signal: AbortSignal,
  work: (call: FreeCall) => Promise<T>,
): Promise<T> {
  const transport = createTransport({ ...wire, baseUrl, apiKey, warn: ({ message }) => say(message) });
  const onRetry = ({ message }: Error) => say(`Trying again: ${message}`);
  const call = async (name: OperationName, input: object, options: SendOptions = {}) => {
    const endpoint = operationTable[name] as unknown as Endpoint<object, unknown>;
    transport.check(endpoint, input, options);
    const retries = { tries: 5, signal, onRetry };
    const { data } = await callWithRetries({ transport, limiter }, endpoint, input, { ...options, ...retries });
    return redactAnswer(data, endpoint.secrets);
  };
  try {
    return await work(call as FreeCall);
  } finally {
    await transport.close();
  }
}

/** Access to a bill, with everything that a call needs. */
export interface BillAccess extends BillSetting {
  readonly url: string;
}

const PARALLEL = 4;
const TRIES = 3;
/** With `TRIES`, a service that never answers is given up after about a minute. */
const timeouts = { headersMs: 20_000, bodyMs: 10_000, totalMs: 25_000 };

/**
 * The bill of each of these UTC days (`2026-11-21`), over all keys: one free call for each day and key. Rejects with `ApiError` if the
 * service refuses a call, and with an error if it answers for another period or key. `onRetry` is called before each further attempt at a call.
 */
export async function readBilledDays(
  { url, serviceKey, keyIds, proxy }: BillAccess,
  days: readonly string[],
  signal: AbortSignal,
  onRetry: (error: Error) => void = () => undefined,
): Promise<readonly BilledDay[]> {
  const transport = createTransport({
    baseUrl: url,
    setting: 'SEARCHFLOW_BILL_URL',
    apiKey: serviceKey,
    timeouts,
    proxy,
    connections: PARALLEL,
  });
  // Calls to another host use nothing of the team's rate; the limiter holds all of them back after a 429.
  const limiter = new MemoryLimiter(flatProfile(PARALLEL));
  const answers = new Map<string, KeyUsage>();
  try {
    const calls = days.flatMap((day) => keyIds.map((id) => ({ day, id })));
    await mapConcurrent(calls, PARALLEL, async ({ day, id }) => {
      const input = { id, start_date: `${day}T00:00:00.000Z`, end_date: `${day}T23:59:59.999Z`, group_by: 'day' };
      const { data } = await callWithRetries({ transport, limiter }, keyUsageEndpoint, input, {
        signal,
        tries: TRIES,
        onRetry,
      });
      checkPeriod(data, day);
      checkKey(data, id);
      answers.set(`${day} ${id}`, data);
    });
  } finally {
    await limiter.close();
    await transport.close();
  }
  const isRounded = [...answers.values()].every(hasWholeCents);
  return days.map((day) => {
    const byKey = new Map(keyIds.map((id) => [id, answers.get(`${day} ${id}`) as KeyUsage]));
    return billedDay(day, byKey, isRounded);
  });
}

function checkPeriod({ period }: KeyUsage, day: string): void {
  if (!period) return;
  const [start, end] = [Date.parse(period.start), Date.parse(period.end)];
  const from = Date.parse(`${day}T00:00:00Z`);
  if (start === from && (isWithin(end, from, 86_400_000) || period.end === day)) return;
  throw new CodedError(
    'bill-unusable',
    `GET ${keyUsageEndpoint.path}: the service answered for ${period.start} to ${period.end} instead of the UTC day ${day}, so its bill cannot be compared by day.`,
  );
}

function checkKey({ api_key_id: answered }: KeyUsage, id: string): void {
  if (!answered || answered.toLowerCase() === id.toLowerCase()) return;
  throw new CodedError(
    'bill-unusable',
    `GET ${keyUsageEndpoint.path}: the service answered for the API key ${answered.slice(0, 100)} instead of ${id} (SEARCHFLOW_KEY_ID), so its bill cannot be compared.`,
  );
}

const isWithin = (at: number, from: number, ms: number): boolean => at >= from && at <= from + ms;

/** Whether all amounts may have been rounded to cents. */
function hasWholeCents({ total_cost_usd: total, cost_breakdown: breakdown }: KeyUsage): boolean {
  const amounts = [total, ...(breakdown ?? []).map(({ amount_usd: amount }) => amount ?? 0)];
  return amounts.every((amount) => (toMicros(amount) ?? 0) % CENT === 0);
}

function billedDay(day: string, byKey: ReadonlyMap<string, KeyUsage>, isRounded: boolean): BilledDay {
  const keys = [...byKey].map(([id, { api_key_name: name = null, total_cost_usd: total }]) => ({
    ...{ id, name, serviceMicros: toMicros(total) as number },
  }));
  return {
    day,
    serviceMicros: keys.reduce((sum, { serviceMicros }) => sum + serviceMicros, 0),
    roundedMicros: isRounded ? keys.filter(({ serviceMicros }) => serviceMicros > 0).length * (CENT / 2) : 0,
    keys,
  };
}

const CENT = 10_000;
