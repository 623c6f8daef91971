import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type AnyEndpoint, drawOf, type Endpoint } from '../api/endpoint.js';
import { type OperationName, operationTable } from '../api/operations.js';
import { canonicalJson, type Json } from '../core/json.js';
import { takeTurn } from '../core/limiter.js';
import { prices } from '../core/prices.js';
import { MAX_BLOCK_MS } from '../core/rate.js';
import { Secret } from '../core/secret.js';
import { unitKeys } from '../core/unit-key.js';
import {
  buyNow,
  type CallOptions,
  failUnlessSuccess,
  loneOrder,
  MAX_INLINE_BYTES,
  type OperationResult,
  packed,
} from './buy.js';
import type { ActivityDeps } from './deps.js';
import { isApiError, toFailure, waiting } from './failure.js';
import { heartbeatFrom, stopping, YIELD_AFTER_MS } from './stopping.js';
import { wholeRequestOrder } from './whole-request-order.js';

type Input = { readonly [field: string]: Json };
type Call = (input: Input, call?: CallOptions) => Promise<OperationResult<Json>>;
type AnyCall = Endpoint<Input, unknown>;

/** Operations that have activities of their own, which share units or know their prices. */
type Special = 'getContents' | 'search';

export type OperationActivities = { readonly [name in Exclude<OperationName, Special>]: Call };

/**
 * An activity for every row of the operations table: one attempt of one operation. A paid one goes through `purchase`; a free
 * one takes its place on the meter and is sent. Their results have the fields of the interface's section that the table names.
 */
export function createOperationActivities(deps: ActivityDeps): OperationActivities {
  const rows = Object.entries(operationTable).filter(([name]) => name !== 'getContents' && name !== 'search');
  return Object.fromEntries(
    rows.map(([name, row]) => [name, activityOf(deps, row as AnyEndpoint as unknown as AnyCall)]),
  ) as OperationActivities;
}

function activityOf(deps: ActivityDeps, endpoint: AnyCall): Call {
  if (endpoint.paid) return (input, call) => buyWhole(deps, endpoint, input, call);
  if (endpoint.name === 'createMonitor') return (input) => createMonitor(deps, endpoint, input);
  return async (input) => packFree(deps, endpoint, input, await sendFree(deps, endpoint, input));
}

async function buyWhole(
  deps: ActivityDeps,
  endpoint: AnyCall,
  input: Input,
  call?: CallOptions,
): Promise<OperationResult<Json>> {
  // What was started must not be started twice: a lost answer is for a person to look at.
  const maxRebuys = endpoint.retry === 'adopt' ? 0 : undefined;
  const estimate = Math.round((endpoint.name === 'answer' ? prices.answer : prices.searchDefault) * 1e6);
  const order = { ...wholeRequestOrder(deps, endpoint, input, { ...loneOrder(call), estimate }), maxRebuys };
  const { records, requests } = await buyNow(deps, order);
  return packed(failUnlessSuccess(records[0]).result, order, requests);
}

/** Sends a free call once, in its turn. A call that acts each time and whose answer was lost is not sent again. */
async function sendFree(deps: ActivityDeps, endpoint: AnyCall, input: Input): Promise<unknown> {
  const control = stopping({});
  const heart = heartbeatFrom(() => null);
  try {
    deps.transport.check(endpoint, input);
    const { blockedUntil, blockReason } = await deps.limiter.view();
    if (blockedUntil !== null && blockedUntil - Date.now() > YIELD_AFTER_MS)
      throw waiting(blockedUntil - Date.now(), blockReason);
    const draw = drawOf(endpoint, input);
    await takeTurn(deps.limiter, draw, control.stop);
    // Nothing is paid for: a cancelled call is cut at once.
    return (await deps.transport.send(endpoint, input, { signal: control.stop })).data;
  } catch (error) {
    if (!isApiError(error)) throw toFailure(error, Context.current().info.attempt);
    const { verdict, facts } = error;
    if (verdict.blocks) await deps.limiter.block(Math.min(facts.retryAfterMs ?? 1000, MAX_BLOCK_MS), error.message);
    if (verdict.retry && verdict.charged === 'maybe' && endpoint.retry === 'look') {
      throw ApplicationFailure.nonRetryable(
        `${error.message}: it may have been done; look before it is done again`,
        'UnknownOutcome',
      );
    }
    throw toFailure(error);
  } finally {
    heart.stop();
    control.done();
  }
}

/** `createMonitor` (interface section 4.6): the secret that is told once goes to the secret store before anything else. */
async function createMonitor(deps: ActivityDeps, endpoint: AnyCall, input: Input): Promise<OperationResult<Json>> {
  const { secrets } = deps;
  if (!secrets) {
    throw ApplicationFailure.nonRetryable(
      'createMonitor needs a secret store for the webhook secret, which the service tells only once (option secretFile); nothing was sent',
      'InvalidRequest',
    );
  }
  const record = (await sendFree(deps, endpoint, input)) as { readonly id?: unknown; readonly webhookSecret?: unknown };
  if (record.webhookSecret instanceof Secret) await secrets.put(`webhook/${String(record.id)}`, record.webhookSecret);
  return packFree(deps, endpoint, input, record);
}

/** A free answer for Temporal: without secrets, and as a reference to the journal where it is large. */
async function packFree(
  deps: ActivityDeps,
  endpoint: AnyCall,
  input: Input,
  answer: unknown,
): Promise<OperationResult<Json>> {
  const data = withoutSecrets(answer, endpoint.secrets ?? []);
  const json = JSON.stringify(data);
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_INLINE_BYTES) return { data, requests: [], costDollars: 0 };
  const { book, owner } = loneOrder();
  const unit = canonicalJson([input, randomUUID()]);
  const key = unitKeys(deps.sha256, deps.origin, endpoint.name, {})(unit);
  const outcome = {
    key,
    unit,
    status: 'success',
    errorTag: null,
    httpStatus: null,
    source: null,
    costMicros: 0,
    result: data,
  } as const;
  await deps.journal.settle(owner, book, endpoint.name, [outcome]);
  return { landed: [key], bytes, preview: json.slice(0, 500), requests: [], costDollars: 0 };
}

function withoutSecrets(answer: unknown, names: readonly string[]): Json {
  if (names.length === 0 || answer === null || typeof answer !== 'object') return answer as Json;
  return Object.fromEntries(
    Object.entries(answer).filter(([name, value]) => !names.includes(name) && !(value instanceof Secret)),
  ) as Json;
}
