import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { type Answer, readLeniently } from '../../api/answer/read-answer.js';
import { jsonSchemaOf } from '../../api/checks/misspelt-fields.js';
import { misreadText } from '../../api/checks/shape.js';
import { openHeaderProblems } from '../../api/request.js';
import type { Input, SendOptions } from '../../api/transport.js';
import { type Endpoint, rateCostOf } from '../../api/wire/endpoint.js';
import { schemaProblems } from '../../core/check-value.js';
import { SUCCESS } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { requestUnit, unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { MOST_DOLLARS } from '../../core/text/money.js';
import type { CallDeps } from '../base/deps.js';
import { thisActivity } from '../base/free-call.js';
import { toFailure } from '../call/failure.js';
import { type Landing, landingOf, redactAnswer } from '../call/landing.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import {
  buyNow,
  type CallOptions,
  failUnlessSuccess,
  lonePurchase,
  type OperationResult,
  oneStart,
  packed,
  refuseTooLarge,
} from './buy.js';

/** Returns what is landed of an answer. Default: the whole answer, byte for byte, without secrets. */
export type Keep = (answer: unknown) => Promise<Json>;

/**
 * Buys the answer of a whole request: a search, an agent run, contents with `context`. The unit is the request as canonical JSON, so that
 * equal requests are bought once. A request that the service would refuse is refused before anything is written.
 *
 * For a free call whose every execution has an effect, the id of the activity is part of the unit. So all attempts of the activity execute
 * the call once. If the answer to the call gets lost, a person must check the effect.
 */
export async function buyWhole<I, O>(
  deps: CallDeps,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  call: CallOptions = {},
  keep?: Keep,
): Promise<OperationResult<O>> {
  const send = sendOptions(call);
  checkRequest(deps, endpoint, input, call);
  let shape: Error | null = null;
  const onFailure = (error: Error): void => {
    shape = error;
  };
  const purchaseRequest = wholeRequestPurchase(deps, endpoint, input, call, { send, keep, onFailure });
  const { records, requests, unknownOutcomes } = await buyNow(deps, purchaseRequest);
  const { result } = failUnlessSuccess(records[0], {
    isFree: !endpoint.paid,
    isAlone: Boolean(deps.alone),
    shape,
  });
  // A whole answer was checked against the endpoint's schema when it landed.
  const { value, misread } = readLeniently(endpoint, result) ?? { value: result as O, misread: [] };
  const keys = purchaseRequest.units.map(({ key }) => key);
  const shown = endpoint.paid ? requests : requests.map((share) => ({ ...share, bought: false }));
  return {
    ...packed(deps, value, keys, { requests: shown, unknownOutcomes }, call),
    misread: misreadText(misread) || undefined,
  };
}

/** Throws if the service would refuse the request, or ignore a misspelt field; sends and writes nothing. */
export function checkRequest<I, O>(
  { transport, alone }: Pick<CallDeps, 'transport' | 'alone'>,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  call: CallOptions,
): void {
  try {
    transport.check(endpoint, input, { ...sendOptions(call), unchecked: call.unchecked });
  } catch (error) {
    throw toFailure(error);
  }
  checkOptions(call);
  refuseTooLarge({ alone }, input as object, call);
}

/** Throws if an option of the call is unknown or has a wrong value. */
export function checkOptions(call: CallOptions): void {
  const isObject = typeof call === 'object' && call !== null;
  const given = isObject ? Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined)) : call;
  const problems = [
    ...schemaProblems('the options', given, jsonSchemaOf(callOptions)),
    ...openHeaderProblems(isObject ? call.extraHeaders : undefined),
  ];
  if (problems.length > 0)
    throw ApplicationFailure.nonRetryable(`${problems.join(' ')} Nothing was sent.`, 'InvalidRequest');
}

/** The schema of the options of an activity. */
export const callOptions = z.strictObject({
  refreshAfterMs: z.number().min(0).optional(),
  beta: z.array(z.string()).optional(),
  extraHeaders: z.record(z.string(), z.string()).optional(),
  unchecked: z.boolean().optional(),
  maxCostDollars: z.number().min(0).max(MOST_DOLLARS).optional(),
  maxInlineBytes: z.number().min(0).optional(),
  maxRebuys: z.int().min(0).optional(),
} satisfies Record<keyof CallOptions, z.ZodType>);

function wholeRequestPurchase<I, O>(
  deps: CallDeps,
  endpoint: Endpoint<I, O>,
  input: Input<NoInfer<I>>,
  call: CallOptions,
  { send, keep, onFailure }: { send: SendOptions; keep: Keep | undefined; onFailure(error: Error): void },
): PurchaseRequest {
  const isOnce = endpoint.retry === 'check';
  const unit = canonicalJson(
    isOnce ? [[...thisActivity(), Context.current().info.scheduledTimestampMs], input] : input,
  );
  // Beta features and headers give other answers, so both are part of the key.
  const keyOf = unitKeys(deps.sha256, deps.origin, endpoint.name, send);
  const key = keyOf(isOnce ? unit : requestUnit(input as Parameters<typeof requestUnit>[0]));
  // The input has already been checked against the endpoint's types.
  const known = input as I;
  const starts = endpoint.retry === 'adopt' || endpoint.retry === 'check';
  return {
    ...(starts ? oneStart(call) : lonePurchase(call)),
    operation: endpoint.name,
    refused: 'throw',
    rateCost: rateCostOf(endpoint, known),
    units: [{ key, unit }],
    unitsPerRequest: 1,
    timeoutMs: deps.timeoutMs,
    maxRebuys: starts ? 0 : call.maxRebuys,
    estimateMicros: () => endpoint.estimate(known, deps.prices()),
    tier: () => endpoint.tier(known),
    send: async (units, { signal }) => {
      const answer = await deps.transport.send(endpoint, input, { ...send, signal }).catch((error: Error) => {
        onFailure(error);
        throw error;
      });
      const kept = await keptOf(endpoint, answer, keep);
      return {
        requestId: answer.requestId,
        queued: answer.queued,
        // The answer to the start of a run has no cost, so the estimate counts.
        costMicros: endpoint.paid ? (endpoint.retry === 'adopt' ? null : answer.costMicros) : 0,
        units: units.map((one) => ({ ...one, ...SUCCESS, ...kept })),
      };
    },
  };
}

async function keptOf<I, O>(
  { secrets }: Endpoint<I, O>,
  answer: Answer<O>,
  keep: Keep | undefined,
): Promise<Landing | { readonly result: Json }> {
  if (keep) return { result: await keep(answer.data) };
  return secrets ? { result: redactAnswer(answer.data, secrets) } : landingOf(answer);
}
