import { fieldOf } from '../../api/checks/field-of.js';
import { NO_CONTENT } from '../../api/endpoints/match.js';
import type { SendOptions } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { rateCostOf } from '../../api/wire/endpoint.js';
import type { UnitStatus } from '../../core/purchase/journal.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { Json } from '../../core/text/json.js';
import type { ActivityDeps } from '../base/deps.js';
import type { Landing } from '../call/landing.js';
import type { AnyPurchase, Bought, PurchaseRequest, RunFacts, Unit } from '../purchase/purchase-request.js';
import type { RunKind } from '../runs/run-follower.js';
import type { Runs } from '../runs/runs.js';
import { holdsNoRow, isNoOutput, isUnfit, UNFIT } from './empty-answers.js';

/** Tag of a unit whose run was cancelled. */
const RUN_CANCELLED = 'RUN_CANCELLED';

/** The timeout of a start, in ms. If no answer has come by then, the run is searched for in the list. */
const START_MS = 60_000;

/** A kind of run that can be bought: agent runs or research tasks. */
export interface RunPurchaseKind<I, R> {
  /** Name of the operation in keys and segments. */
  readonly operation: string;
  readonly run: RunKind<R>;
  readonly create: Endpoint<I, R>;
  /** Returns the request with the tag of the purchase, or the unchanged request if the service keeps no tag. */
  tagged(input: I, tag: string): I;
  /** Returns the request with a bound of its cost. */
  bounded(input: I, limitMicros: number): I;
  /** Returns the bound of the run's cost for this remaining budget; null if the cost cannot be bounded. */
  bound(input: I, remainingMicros: number, prices: PriceTable): number | null;
  /**
   * Returns how a run shows that it belongs to the request: `tag`: the run has the tag; `echo`: the run echoes the request. `silent`: the
   * run shows neither tag nor request; null: the run belongs to another request.
   */
  match(run: R, input: I, tag: string): 'tag' | 'echo' | 'silent' | null;
  /** Whether a run shows the tag of any purchase of ours. */
  isTagged(run: R): boolean;
  /** Returns the id of the run that an error message names, if that run may belong to this request; otherwise null. */
  named(message: string, input: I): string | null;
  /** The fields of a completed run that may have its output. */
  outputs(run: R): readonly unknown[];
  outcome(run: R): {
    readonly status: UnitStatus;
    readonly errorTag: string | null;
    readonly costMicros: number | null;
  };
}

/** The fields of a purchase request that are the same for all kinds of runs. */
export interface RunsWanted<I, R> extends AnyPurchase {
  /** Returns the request of a unit. Equal units have equal requests, because the request is part of the key. */
  request(unit: Unit): I;
  /** What follows if the service refuses a unit. `record` (the default): the unit is recorded as failed. `throw`: the purchase fails. */
  readonly refused?: PurchaseRequest['refused'];
  /** Called with each polled record of a run. `startedAt` is in Unix ms, by the clock of the machine that started the run. */
  readonly onPoll?: (unit: Unit, run: R, startedAt: number) => void;
  /** Ends a run in progress. If this function is set, runs in progress are ended and no run is started. */
  readonly end?: ((id: string, signal: AbortSignal) => Promise<void>) | undefined;
  /** Tag of a unit whose run was cancelled; default: the kind's own. */
  readonly cancelledTag?: string | undefined;
  readonly wire?: SendOptions;
  /** The age in ms after which a run is left running. */
  readonly maxRunMs?: number | undefined;
  /** Whether an answer has one object for each of its rows; default false. */
  readonly sharesAnswers?: boolean;
}

/** Returns a purchase request for runs; see `LongRunning`. Each unit is one request. */
export function runPurchase<I, R>(
  deps: Pick<ActivityDeps, 'transport' | 'timeoutMs' | 'prices'>,
  runs: Runs<R>,
  kind: RunPurchaseKind<I, R>,
  wanted: RunsWanted<I, R>,
): PurchaseRequest {
  const {
    request,
    onPoll,
    end,
    cancelledTag,
    wire = {},
    refused = 'record',
    maxRunMs,
    sharesAnswers = false,
    ...purchaseRequest
  } = wanted;
  const { create, run } = kind;
  const example = purchaseRequest.units[0];
  const estimate = (unit: Unit): number => create.estimate(request(unit), deps.prices());
  const factsOf = (record: R): RunFacts | null => {
    const id = run.idOf(record);
    return id === null ? null : { run: id, requestId: null };
  };
  return {
    ...purchaseRequest,
    operation: kind.operation,
    refused,
    rateCost: example ? rateCostOf(create, request(example)) : { rateClass: 'default', weight: create.weight },
    unitsPerRequest: 1,
    maxRebuys: 0,
    timeoutMs: Math.min(deps.timeoutMs, START_MS),
    estimateMicros: (units) => units.reduce((sum, unit) => sum + estimate(unit), 0),
    tier: ([unit]) => (unit ? create.tier(request(unit)) : ''),
    send: () => Promise.reject(new Error(`${kind.operation} is started, not sent`)),
    longRunning: {
      slots: runs.slots,
      startsNothing: end !== undefined,
      maxRunMs,
      bound: (unit, remainingMicros) => kind.bound(request(unit), remainingMicros, deps.prices()),
      async start(unit, { tag, limitMicros }, signal) {
        const plain = request(unit);
        const input = kind.tagged(limitMicros === null ? plain : kind.bounded(plain, limitMicros), tag);
        const { data, requestId, queued, warnings } = await deps.transport.send(create, input, {
          ...wire,
          signal,
          totalMs: START_MS,
        });
        const id = run.idOf(data);
        if (id === null) throw new Error(`${kind.operation}: a run without an id`);
        return { run: id, requestId, queued, warnings };
      },
      async follow(unit, facts, startedAt, signal) {
        await end?.(facts.run, signal);
        const ended = await runs.follower.follow(facts.run, {
          startedAt,
          signal,
          onPoll: onPoll ? (record: R) => onPoll(unit, record, startedAt) : undefined,
        });
        if (ended.run === null) return null;
        onPoll?.(unit, ended.run, startedAt);
        const answer = bought(kind, unit, facts, { run: ended.run, kept: ended.kept }, cancelledTag);
        const [{ status } = { status: 'error' }] = answer.units;
        const isWithoutRows = sharesAnswers && status === 'success' && holdsNoRow(kind.outputs(ended.run), unit.unit);
        const schema = fieldOf(request(unit), 'outputSchema');
        const isOther =
          status === 'success' && kind.outputs(ended.run).every((one) => isUnfit(schema, fieldOf(one, 'structured')));
        const nothing = isWithoutRows
          ? 'the output of the run has none of its rows'
          : (answer.nothing ?? (isOther ? UNFIT : null));
        return { ...answer, nothing, warnings: ended.warnings };
      },
      async find(unit, sought, signal) {
        const input = request(unit);
        const { tag, since, message } = sought;
        const match = (record: R) => kind.match(record, input, tag);
        const reported = message === null ? null : kind.named(message, input);
        const named = reported === null ? null : await runs.recent.one(reported, signal);
        const {
          runs: recent,
          whole,
          clockAheadMs,
        } = named !== null && match(named) === 'tag'
          ? { runs: [named], whole: false, clockAheadMs: 0 }
          : await runs.recent.since(since, signal);
        const tagged = recent.find((record) => match(record) === 'tag');
        if (tagged !== undefined) return factsOf(tagged);
        // A run that does not show its tag is accepted only if it is the only candidate and no other purchase claims it.
        const from = since + clockAheadMs;
        const isOfThen = (record: R) => (run.createdAt(record) ?? from) >= from;
        const echoes = recent.filter((record) => isOfThen(record) && match(record) === 'echo');
        const isNamed = named !== null && isOfThen(named) && match(named) !== null;
        const [ours] = isNamed ? [named] : echoes.length === 1 ? echoes : [];
        const facts = ours === undefined ? null : factsOf(ours);
        if (facts !== null && !(await runs.claimed(facts.run, unit.key))) return facts;
        // The service returned the tags of our other runs, so it would also have returned the tag of this run.
        const certain = whole && named === null && recent.some((record) => kind.isTagged(record));
        return certain ? 'none' : null;
      },
    },
  };
}

function bought<I, R>(
  kind: RunPurchaseKind<I, R>,
  unit: Unit,
  { requestId }: RunFacts,
  { run, kept }: { readonly run: R; readonly kept: Landing | undefined },
  cancelledTag: string = RUN_CANCELLED,
): Bought {
  const { status, errorTag: tag, costMicros } = kind.outcome(run);
  // An answer from the service is JSON.
  const landing = kept ?? { result: run as Json };
  const isNothing = status === 'success' && !kept?.misread && kind.outputs(run).every(isNoOutput);
  const errorTag = isNothing ? NO_CONTENT : tag === RUN_CANCELLED ? cancelledTag : tag;
  const ended = { status: errorTag === null ? status : 'error', errorTag, httpStatus: null, source: null } as const;
  return {
    requestId,
    costMicros,
    nothing: isNothing ? 'the run is completed and has no output' : null,
    units: [{ ...unit, ...ended, ...landing }],
  };
}
