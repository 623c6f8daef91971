import { fieldOf } from '../../api/checks/field-of.js';
import {
  createResearchTaskEndpoint,
  type ResearchTask,
  type ResearchTaskRequest,
} from '../../api/endpoints/research.js';
import type { SendOptions } from '../../api/transport.js';
import { unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson } from '../../core/text/json.js';
import { toMicros } from '../../core/text/money.js';
import type { ActivityDeps } from '../base/deps.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import { researchKind } from '../runs/run-kinds.js';
import { runTag } from './agent-purchase.js';
import { type RunPurchaseKind, type RunsWanted, runPurchase } from './run-purchase.js';

/** Name of the operation in keys and segments. */
export const RESEARCH = 'research';

function kindOf(variant: string | undefined): RunPurchaseKind<ResearchTaskRequest, ResearchTask> {
  return {
    operation: RESEARCH,
    run: researchKind(variant),
    create: createResearchTaskEndpoint,
    // The service accepts neither metadata for a tag nor a budget for a task.
    tagged: (input) => input,
    bounded: (input) => input,
    bound: () => null,
    match: (task, input) => (echoOfTask(task) === echoOfRequest(input) ? 'echo' : null),
    isTagged: () => false,
    named: () => null,
    outputs: ({ data, output }) => [data, output],
    outcome({ status, costDollars, error }) {
      const costMicros = toMicros(costDollars?.total);
      const completed = status ? status === 'completed' : !error;
      if (completed) return { status: 'success', errorTag: null, costMicros };
      return { status: 'error', errorTag: runTag(status ?? 'failed'), costMicros };
    },
  };
}

const echoOf = (instructions: unknown, schema: unknown): string =>
  canonicalJson([instructions ?? null, schema ?? null]);

function echoOfTask({ instructions, schema, outputSchema }: ResearchTask): string {
  return echoOf(instructions, schema ?? outputSchema);
}

function echoOfRequest({ input, output, instructions, outputSchema }: ResearchTaskRequest): string {
  return echoOf(input?.instructions ?? instructions, fieldOf(output, 'schema') ?? outputSchema);
}

/** Returns the key function of units for these options. The unit is the canonical JSON of the rest of the request. */
export function researchKeys(
  deps: Pick<ActivityDeps, 'origin' | 'sha256'>,
  options: unknown,
  wire: SendOptions = {},
): (unit: string) => string {
  const plain = Object.keys(wire).length === 0;
  return unitKeys(deps.sha256, deps.origin, RESEARCH, plain ? options : [options, wire]);
}

/** Returns a purchase request for research tasks. A task cannot be ended early. */
export function researchPurchase(
  deps: Pick<ActivityDeps, 'transport' | 'timeoutMs' | 'prices' | 'runs'>,
  wanted: Omit<RunsWanted<ResearchTaskRequest, ResearchTask>, 'end'>,
): PurchaseRequest {
  const variant = wanted.wire?.variant;
  return runPurchase(deps, deps.runs.research(variant), kindOf(variant), wanted);
}
