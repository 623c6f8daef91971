import type { OverBudget } from '../purchase/spend.js';
import { dollars } from '../text/money.js';
import type { PauseReason } from './job.js';

/** A failure as a workflow gets it: type and sentence, and the first of its details. */
export interface Failure {
  readonly type: string;
  readonly message: string;
  readonly details: unknown;
}

/** Why a job waits, and a sentence with the way out. */
export interface Pause {
  readonly reason: PauseReason;
  readonly message: string;
}

/** Name of the failure where not one more unit may be bought; its detail is an {@link OverBudgetFacts}. */
export const BUDGET_EXCEEDED = 'BudgetExceeded';

export type OverBudgetFacts = Pick<OverBudget, 'scope' | 'capMicros' | 'remainingMicros' | 'resetsAt'> &
  Partial<Pick<OverBudget, 'multiple'>>;

/** Answers that cost more than so many times their list price are pointed out. */
const DEARER = 1.05;

/** Name of the failure where so many answers in a row were not the service's that nothing more is sent. */
export const SERVICE_UNRECOGNIZED = 'ServiceUnrecognized';

/** Why a job waits for a failure that a person can mend, by its type. */
const reasons: Readonly<Record<string, PauseReason>> = {
  Unauthorized: 'key',
  ApiKeyMissing: 'key',
  PaymentRequired: 'credits',
  [BUDGET_EXCEEDED]: 'budget',
  RateLimited: 'rate',
  [SERVICE_UNRECOGNIZED]: 'service',
};

/** Why something waits that fails with this type; null where waiting mends nothing. */
export function pauseReasonOf(type: unknown): PauseReason | null {
  return (typeof type === 'string' && Object.hasOwn(reasons, type) && reasons[type]) || null;
}

/** What a person does about it, by tag (public facts section 1.3) or else by type; `, and go on: …` follows. */
const remedies: Readonly<Record<string, string>> = {
  NO_MORE_CREDITS: "the team's prepaid credits are used up; buy more",
  API_KEY_BUDGET_EXCEEDED:
    'the budget that this API key has at the service is used up; raise it there, or use another key',
  TEAM_BUDGET_EXCEEDED: 'the budget that the team has set at the service is used up; raise it there',
  PaymentRequired: "the service wants to be paid; look at the team's credits and the budget of the key",
  ApiKeyMissing: 'the request came without an API key; set SEARCHFLOW_API_KEY',
  Unauthorized: 'the service refuses the API key; set one that it takes in SEARCHFLOW_API_KEY',
  RateLimited: 'the service wants more than an hour of rest; wait so long',
  [SERVICE_UNRECOGNIZED]:
    'a proxy, a captive portal or a maintenance page may answer in its place; check the network and SEARCHFLOW_BASE_URL',
};

/**
 * The pause that a failure calls for; null where waiting mends nothing. `job` is what is resumed then, null for a scheduled run,
 * which ends instead and is followed by the next. `maxCostMicros` is what the run of the job may cost, `spentMicros` what it has
 * cost, in flight and unknown included, where that is known.
 */
export function pauseOf(
  failure: Failure,
  job: string | null,
  maxCostMicros: number | null,
  spentMicros: number | null = null,
): Pause | null {
  const reason = pauseReasonOf(failure.type);
  if (!reason) return null;
  const facts = failure.details;
  if (reason === 'budget' && isOverBudget(facts)) {
    return { reason, message: budgetText(facts, job, maxCostMicros, spentMicros) };
  }
  const remedy = remedies[tagOf(facts)] ?? remedies[failure.type];
  const goOn = job === null ? 'the next run goes on' : `go on: searchflow resume ${job}`;
  return { reason, message: `${failure.message}: ${remedy}, and ${goOn}` };
}

function budgetText(
  facts: OverBudgetFacts,
  job: string | null,
  maxCostMicros: number | null,
  spentMicros: number | null,
): string {
  const { scope, capMicros, remainingMicros, resetsAt, multiple = 0 } = facts;
  const dearer =
    multiple > DEARER ? ` (the service charges up to ${multiple.toFixed(1)} times what the price table says)` : '';
  if (scope === 'job') {
    const cap = maxCostMicros ?? capMicros;
    const spent = spentMicros ?? cap - remainingMicros;
    const enough = Math.ceil((2 * Math.max(cap, spent)) / 10_000) / 100;
    const goOn =
      job === null
        ? 'the next run goes on with as much'
        : `raise it and go on: searchflow resume ${job} --max-cost ${enough}`;
    return (
      `${dollars(spent)} is spent of the ${dollars(cap)} that this run may cost, and what is left pays for no further ` +
      `request${dearer}; ${goOn}`
    );
  }
  if (scope === 'worker') {
    const spent = spentMicros ?? capMicros - remainingMicros;
    const goOn = job === null ? 'the next run may cost as much again' : `restart the worker: searchflow resume ${job}`;
    return (
      `${dollars(spent)} is spent of the ${dollars(capMicros)} that the worker allows a run of a job, and the rest pays for no ` +
      `further request; raise maxCostPerJob (SEARCHFLOW_MAX_COST_PER_JOB) ${job === null ? 'or wait' : 'and'}: ${goOn}`
    );
  }
  const day = new Date(resetsAt ?? 0).toISOString().replace('.000Z', 'Z');
  return (
    `${dollars(capMicros - remainingMicros)} of the ${dollars(capMicros)} that the team may spend a ${scope} is spent or in ` +
    `flight${dearer}; the ${scope} ends at ${day}. ${
      job === null
        ? `The first run after that goes on, or one after it is raised (searchflow limits set --per-${scope})`
        : `Go on then, or once it is raised (searchflow limits set --per-${scope}): searchflow resume ${job}`
    }`
  );
}

function isOverBudget(facts: unknown): facts is OverBudgetFacts {
  return (
    typeof facts === 'object' && facts !== null && 'scope' in facts && 'capMicros' in facts && facts.scope !== 'call'
  );
}

function tagOf(facts: unknown): string {
  return typeof facts === 'object' && facts !== null && 'tag' in facts ? String(facts.tag) : '';
}
