import { fieldOf } from '../../api/checks/field-of.js';
import {
  cancelAgentRunEndpoint,
  createAgentRunEndpoint,
  stopAgentRunEndpoint,
} from '../../api/endpoints/agent-runs.js';
import type { AgentRun, AgentRunRequest } from '../../api/schemas/agent-run-schemas.js';
import type { SendOptions } from '../../api/transport.js';
import { keyOptions, unitKeys } from '../../core/purchase/unit-key.js';
import { AGENT } from '../../core/rows/row-operation.js';
import { canonicalJson } from '../../core/text/json.js';
import { toDollars, toMicros } from '../../core/text/money.js';
import type { ActivityDeps } from '../base/deps.js';
import { callWithRetries } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import { agentRunKind } from '../runs/run-follower.js';
import { type RunPurchaseKind, type RunsWanted, runPurchase } from './run-purchase.js';

/** Field of a run's metadata that holds our tag. */
const TAG = 'searchflow';
/** Efforts whose cost depends on usage. Only runs of these efforts accept a budget. */
const metered: readonly string[] = ['auto', 'max', 'ultra'];
const MIN_BUDGET_MICROS = 1_000_000;
const CENT = 10_000;

const isMetered = ({ effort }: AgentRunRequest): boolean => metered.includes(effort ?? 'auto');

export const agentKind: RunPurchaseKind<AgentRunRequest, AgentRun> = {
  operation: AGENT,
  run: agentRunKind,
  create: createAgentRunEndpoint,
  // Metadata of another type has no room for a tag: such a run is recognized by its request.
  tagged: (input, tag) =>
    Array.isArray(input.metadata) || typeof (input.metadata ?? {}) !== 'object'
      ? input
      : { ...input, metadata: { ...(input.metadata as object), [TAG]: tag } },
  bounded: (input, limitMicros) => ({ ...input, budget: { ...input.budget, maxCostDollars: toDollars(limitMicros) } }),
  bound(input, remainingMicros, prices) {
    if (!isMetered(input)) return null;
    const most = agentKind.create.estimate(input, prices);
    const micros = Math.floor(Math.min(most, remainingMicros) / CENT) * CENT;
    return micros < MIN_BUDGET_MICROS ? null : micros;
  },
  match(run, input, tag) {
    const reported = tagIn(run);
    if (reported !== undefined) return reported === tag ? 'tag' : null;
    if (!run.request) return 'silent';
    // The service returned metadata without our tag, so another client started the run.
    if (fieldOf(run.request, 'metadata')) return null;
    return echo(run.request) === echo(input) ? 'echo' : null;
  },
  isTagged: (run) => tagIn(run) !== undefined,
  named: (message, { previousRunId }) =>
    message.match(/\bagent_run_[A-Za-z0-9_-]+/g)?.find((id) => id !== previousRunId) ?? null,
  outputs: ({ output }) => [output],
  outcome({ status, costDollars }) {
    const costMicros = toMicros(costDollars?.total);
    if (status === 'completed') return { status: 'success', errorTag: null, costMicros };
    return { status: 'error', errorTag: runTag(status), costMicros };
  },
};

function tagIn(run: AgentRun): unknown {
  return fieldOf(fieldOf(run.request, 'metadata'), TAG) ?? fieldOf(fieldOf(run, 'metadata'), TAG);
}

/** Returns the tag of a row whose run has not completed: `RUN_FAILED`, `RUN_CANCELLED`, or `RUN_` followed by an unknown status. */
export function runTag(status: string | null | undefined): string {
  const name = status === 'canceled' ? 'cancelled' : (status ?? 'unknown');
  return `RUN_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
}

/**
 * Returns a request in the form in which the service's echo is compared. Nulls, the default effort and budgets are left out, because these
 * may differ between two equal requests.
 */
function echo({ metadata: _tag, budget: _budget, ...request }: { readonly [name: string]: unknown }): string {
  const fields = Object.entries(request).filter(
    ([name, value]) => value !== null && value !== undefined && !(name === 'effort' && value === 'auto'),
  );
  return canonicalJson(Object.fromEntries(fields));
}

/** Returns the key function of agent runs. A unit is the canonical JSON of a request. */
export const agentKeys = ({ sha256, origin }: Pick<ActivityDeps, 'origin' | 'sha256'>, wire: SendOptions = {}) =>
  unitKeys(sha256, origin, AGENT, keyOptions({}, wire));

/** Returns a purchase request for agent runs. Each run is started and followed to its end, and its whole record lands. */
export function agentPurchase(
  deps: Pick<ActivityDeps, 'transport' | 'limiter' | 'timeoutMs' | 'prices' | 'runs'>,
  wanted: Omit<RunsWanted<AgentRunRequest, AgentRun>, 'end'> & {
    /** If set, nothing is started and runs in progress are ended: `cancel` drops the output of the runs, `stop` keeps the output. */
    readonly ending?: 'cancel' | 'stop';
  },
): PurchaseRequest {
  const { ending, ...rest } = wanted;
  const end = ending && ((id: string, signal: AbortSignal) => endRun(deps, id, ending, signal));
  return runPurchase(deps, deps.runs.agent, agentKind, { ...rest, end });
}

/** Cancels or stops a run. A run that cannot be stopped is cancelled. A missing run is left to the attempt that follows the run. */
async function endRun(
  deps: Pick<ActivityDeps, 'transport' | 'limiter'>,
  id: string,
  ending: 'cancel' | 'stop',
  signal: AbortSignal,
): Promise<void> {
  try {
    await callWithRetries(
      deps,
      ending === 'stop' ? stopAgentRunEndpoint : cancelAgentRunEndpoint,
      { id },
      { signal, tries: Number.POSITIVE_INFINITY },
    );
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { type } = error.verdict;
    if (ending === 'stop' && (type === 'InvalidRequest' || type === 'NotFound'))
      return endRun(deps, id, 'cancel', signal);
    if (type !== 'NotFound') throw error;
  }
}
