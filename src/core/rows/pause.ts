import { BUDGET_EXCEEDED } from '../choices.js';
import { codeOfCap } from '../errors/code-of.js';
import type { ErrorCode } from '../errors/registry.js';
import type { JobProgress, PublishOutcome, ServiceWarning, StopAtFailed } from '../row-job-schemas.js';
import { count } from '../text/count.js';
import { dollars } from '../text/money.js';
import { shellWord } from '../text/shell-word.js';
import type { PauseReason } from './job-names.js';
import { isLongRunning } from './row-operation.js';
import {
  ALL_REFUSED,
  type AllRefusedFacts,
  type AnswerCounts,
  limitText,
  type OverBudgetFacts,
  type RowsOfNothing,
  SERVICE_UNRECOGNIZED,
} from './stop-at-failed.js';
import { warningText } from './warnings.js';

/** A failure in a workflow: its type and message, and the first detail of the failure. */
export interface Failure {
  readonly type: string;
  readonly message: string;
  readonly details: unknown;
}

/** Why a job is paused, and a message that says what to do. */
export interface Pause {
  readonly reason: PauseReason;
  /** For the reason `budget`: the owner of the cap that is reached. */
  readonly cap?: JobProgress['cap'];
  readonly message: string;
}

/** The amounts of a run that count under its cap, in micro-dollars. */
export interface RunSpend {
  /** Cost, unknown outcomes, and what is held. */
  readonly countedMicros: number;
  /** Estimates of requests that this run sent and that have not ended. */
  readonly heldMicros: number;
  /** `runs`: the requests started runs at the service, which may take hours. */
  readonly heldFor: 'runs' | 'requests';
}

/** Amounts of the purchases for a job, in micro-dollars. */
interface Purchased {
  readonly committedMicros: number;
  readonly openSinceMicros: number;
}

/** Returns the amounts that count under the cap of a run. `before`, `now`: purchases for the job before the run, and so far. */
export function spentOf(operation: string, before: Purchased, now: Purchased): RunSpend {
  const countedMicros = now.committedMicros - before.committedMicros;
  const heldMicros = Math.min(Math.max(0, countedMicros), now.openSinceMicros);
  return { countedMicros, heldMicros, heldFor: isLongRunning(operation) ? 'runs' : 'requests' };
}

/** Reason of work that was stopped because its command had ended. */
export const COMMAND_ENDED = 'its command ended';
/** Prefix of the reason of a workflow that a command terminated because it could not stop by itself. */
export const STOPPED = 'stopped: ';

/** The message of a cancelled job without a further reason. */
export const JOB_CANCELLED = 'the job was cancelled';

/** Message of a cancelled job that has not ended yet: without a worker, and with one. */
export const CANCEL_WAITS = 'it was cancelled, and a worker must end it';
export const CANCEL_RUNS = 'it is being cancelled';

/** If answers cost more than this multiple of their list price, the message of a pause says so. */
const DEARER = 1.05;

/** The reason of a pause by the type of a failure that a person can fix. */
const reasons: Readonly<Record<string, PauseReason>> = {
  Unauthorized: 'key',
  ApiKeyMissing: 'key',
  PaymentRequired: 'credits',
  [BUDGET_EXCEEDED]: 'budget',
  RateLimited: 'rate',
  [SERVICE_UNRECOGNIZED]: 'service',
  ResponseShape: 'service',
  [ALL_REFUSED]: 'request',
};

/** Returns the reason of a pause for a type of failure; null where a pause does not help. */
export function pauseReasonOf(type: unknown): PauseReason | null {
  return (typeof type === 'string' && Object.hasOwn(reasons, type) && reasons[type]) || null;
}

const codes: Readonly<Record<PauseReason, ErrorCode>> = {
  key: 'key-refused',
  credits: 'credits-used-up',
  budget: 'budget-reached',
  rate: 'rate-limited',
  service: 'service-unrecognized',
  request: 'requests-refused',
  failed: 'too-many-failures',
  person: 'job-paused',
};

/** Returns the error code of a pause or stop. */
export function codeOfPause({ pausedFor, cap }: Pick<JobProgress, 'pausedFor' | 'cap'>): ErrorCode {
  return pausedFor === 'budget' ? codeOfCap(cap) : codes[pausedFor ?? 'person'];
}

/** What a person must do, by the tag of the failure, or else by its type. The message continues with `, then resume …`. */
const remedies: Readonly<Record<string, string>> = {
  NO_MORE_CREDITS: "the team's prepaid credits are used up. Buy more credits",
  API_KEY_BUDGET_EXCEEDED: "this API key's budget at the service is used up. Raise it there or use another key",
  TEAM_BUDGET_EXCEEDED: "the team's budget at the service is used up. Raise it there",
  PaymentRequired: "the service requires payment. Check the team's credits and the key's budget",
  ApiKeyMissing: 'the request had no API key. Set SEARCHFLOW_API_KEY',
  Unauthorized: 'the service refuses the API key. Set a valid key in SEARCHFLOW_API_KEY',
  RateLimited: 'the service asks for a wait of more than an hour. Wait that long',
  ResponseShape: 'the service answers in an unknown form. Check SEARCHFLOW_BASE_URL, and update searchflow',
  [BUDGET_EXCEEDED]: 'a budget is used up. Raise it',
  [ALL_REFUSED]: 'correct the request',
  [SERVICE_UNRECOGNIZED]:
    'a proxy, a captive portal or a maintenance page may answer instead. Check the network and SEARCHFLOW_BASE_URL',
};

/**
 * Returns the pause for a failure; null if a pause does not help. `job` is the name for `resume`; null for a scheduled run, which ends
 * instead of pausing. `maxCostMicros` is the cap of the run. `spent`: null if unknown.
 *
 * The message has a command line only if the command that was typed would pause for the same reason again. In other cases the CLI adds the
 * command that was typed.
 */
export function pauseOf(
  failure: Failure,
  job: string | null,
  maxCostMicros: number | null,
  spent: RunSpend | null = null,
): Pause | null {
  const reason = pauseReasonOf(failure.type);
  if (!reason) return null;
  const facts = failure.details;
  if (reason === 'budget' && isOverBudget(facts))
    return { reason, cap: facts.scope, message: budgetText(facts, job, maxCostMicros, spent) };
  if (reason === 'request' && has<AllRefusedFacts>(facts, 'requests', 'rows'))
    return { reason, message: refusedText(failure.message, facts, job) };
  const remedy = (has<{ tag: string }>(facts, 'tag') && remedies[facts.tag]) || remedies[failure.type];
  return { reason, message: `${failure.message}: ${remedy}${thenResume(job)}` };
}

/** Returns the pause of a job whose answers fail too often. `job`: the name for `resume`; null for a scheduled run. */
export function failedPause(counts: AnswerCounts, limit: Required<StopAtFailed>, job: string | null): Pause {
  const { answered, failed, tags } = counts;
  const [most] = Object.entries(tags).sort(([, a], [, b]) => b - a);
  const tag = most === undefined ? '' : `, most often with ${most[0]} (${count(most[1])})`;
  const share = Math.floor((1000 * failed) / answered) / 10;
  const next =
    job === null
      ? 'Correct the request or these rows; the next run buys the rest and counts again'
      : `Correct the request and run the job's command again, or remove the limit (--stop-at-failed none). To accept these failures and count again: searchflow resume ${shellWord(job)}`;
  return {
    reason: 'failed',
    message: `${count(failed)} of ${count(answered)} answers failed (${share}%)${tag}; the job pauses if ${limitText(limit)}. ${next}`,
  };
}

/** Returns the pause of a job whose answers have nothing usable; `job` as for {@link failedPause}. */
export function nothingPause({ requests, of, why, row, isKept }: RowsOfNothing, job: string | null): Pause {
  const which =
    requests === of
      ? `The last ${count(of)} answers have`
      : `${count(requests)} of the first ${count(of)} answers have`;
  const see =
    job === null || row === null || !isKept
      ? ''
      : ` The answers are kept; to see the last one: searchflow trace ${shellWord(job)} --row ${row} --answer.`;
  const next =
    job === null
      ? 'Check SEARCHFLOW_BASE_URL, the request and the service; the next run continues'
      : `Check SEARCHFLOW_BASE_URL, the request and the service. To continue: searchflow resume ${shellWord(job)}`;
  return { reason: 'service', message: `${which} nothing usable: ${why.replace(/\.$/, '')}.${see} ${next}` };
}

/** Number of warnings in a message. */
const WARNINGS_SHOWN = 5;

/** Returns the pause of a job whose first answers have warnings; `job` as for {@link failedPause}. */
export function warningPause(warnings: readonly ServiceWarning[], job: string | null): Pause {
  const shown = warnings.slice(0, WARNINGS_SHOWN).map(warningText).join('; ');
  const flags = [...new Set(warnings.map(({ code }) => code))].map((code) => ` --accept-warning ${shellWord(code)}`);
  const next =
    job === null
      ? `Correct the request, or accept the warnings and create the schedule again:${flags.join('')}`
      : `Correct the request and run the job's command again. To accept the warnings and continue: searchflow resume ${shellWord(job)}${flags.join('')}`;
  return {
    reason: 'request',
    message: `The service warns about the request: ${shown}. The answers so far are kept. ${next}`,
  };
}

/** Returns the message of a run whose rows are loaded, but not published; `job` as for {@link failedPause}. */
export function publishFailed({ to, error }: PublishOutcome, job: string | null): string {
  const reason = (error ?? '').replace(/\.$/, '');
  const next =
    job === null
      ? 'Fix this; the next run publishes the rows'
      : `Fix this and run the job's command again; nothing is bought twice. Or: searchflow publish ${shellWord(job)} --to ${shellWord(to)}`;
  return `All rows are loaded, but not published to ${to}: ${reason}. ${next}`;
}

function refusedText(refusal: string, { requests, rows }: AllRefusedFacts, job: string | null): string {
  const next =
    job === null
      ? 'Correct the request or these rows; the next run continues. To record such rows as failed, create the schedule again with --skip-refused'
      : `Correct the request and run the job's command again. To record such rows as failed and continue: searchflow resume ${shellWord(job)} --skip-refused`;
  return `${refusal}. The service refused ${requests} requests and accepted none of this run; the job has ${count(rows)} rows. ${next}`;
}

/**
 * Returns the message of a failure that ends a job, with what to do about a refused request; parameters as for {@link pauseOf}. The remedy
 * of a wrong request is to correct the request: `resume` would send it again.
 */
export function endingText({ type, message, details }: Failure, job: string | null): string {
  const reason = message.replace(/\.$/, '');
  if (type === 'NotFound') return `${reason}. Check the address of the service (SEARCHFLOW_BASE_URL)${thenResume(job)}`;
  if (type === 'InvalidRequest')
    return `${reason}. ${isTooLarge(details) ? 'Make the request smaller' : 'Correct the request'}${job === null ? '; the next run continues' : " and run the job's command again"}`;
  return message;
}

const thenResume = (job: string | null): string =>
  job === null ? '; the next run continues' : `, then resume ${shellWord(job)}`;

/** Whether a request with a single unit was refused for its size, by the service or by a proxy before the service. */
const isTooLarge = (facts: unknown): boolean =>
  has<{ status: unknown }>(facts, 'status') && [413, 414].includes(Number(facts.status));

function budgetText(
  facts: OverBudgetFacts,
  job: string | null,
  maxCostMicros: number | null,
  spent: RunSpend | null,
): string {
  const { scope, capMicros, remainingMicros, resetsAt, multiple = 0 } = facts;
  const dearer =
    multiple > DEARER ? ` (the service charges up to ${multiple.toFixed(1)} times the price of the price table)` : '';
  if (scope === 'job') {
    const cap = maxCostMicros ?? capMicros;
    const counted = spent?.countedMicros ?? cap - remainingMicros;
    const enough = Math.ceil((2 * Math.max(cap, counted)) / 10_000) / 100;
    const next =
      job === null
        ? 'The next run continues with the same budget'
        : `To raise the budget and resume: searchflow resume ${shellWord(job)} --max-cost ${enough}`;
    return (
      `${usedText(`this run's budget of ${dollars(cap)}`, counted, spent)}, and the rest is not enough for another ` +
      `request${dearer}. ${next}`
    );
  }
  if (scope === 'worker') {
    const counted = spent?.countedMicros ?? capMicros - remainingMicros;
    const budget = `the worker's budget of ${dollars(capMicros)} for a run of a job`;
    const setting = 'maxCostPerJob (SEARCHFLOW_MAX_COST_PER_JOB)';
    const next =
      job === null
        ? `Raise ${setting}; the next scheduled run starts with a new budget of the same size`
        : `Raise ${setting}, restart the worker and run: searchflow resume ${shellWord(job)}`;
    return `${usedText(budget, counted, spent)}, and the rest is not enough for another request. ${next}`;
  }
  const day = new Date(resetsAt ?? 0).toISOString().replace('.000Z', 'Z');
  return (
    `${dollars(capMicros - remainingMicros)} of the team's budget of ${dollars(capMicros)} a ${scope} is spent or in ` +
    `flight${dearer}; the ${scope} ends at ${day}. ${
      job === null
        ? `The first run after that continues, or an earlier one after the budget is raised (searchflow limits set --per-${scope})`
        : `Wait until then, or raise --per-${scope} of the team's limits; then run: searchflow resume ${shellWord(job)}`
    }`
  );
}

/** Returns the part of a budget that is used: what is spent, and what is held for work that has not ended. */
function usedText(budget: string, countedMicros: number, spent: RunSpend | null): string {
  const { heldMicros = 0, heldFor } = spent ?? {};
  const isSpent = `${dollars(Math.max(0, countedMicros - heldMicros))} of ${budget} is spent`;
  if (heldMicros === 0) return isSpent;
  const what = heldFor === 'runs' ? 'runs that are still running at the service' : 'requests in flight';
  return `${isSpent}, ${dollars(heldMicros)} is held for ${what}`;
}

const isOverBudget = (facts: unknown): facts is OverBudgetFacts & { readonly scope: NonNullable<Pause['cap']> } =>
  has<OverBudgetFacts>(facts, 'scope', 'capMicros') && facts.scope !== 'call';

/** Whether the facts of a failure have these fields. A failure of another version may lack some. */
const has = <Facts>(facts: unknown, ...names: readonly (keyof Facts)[]): facts is Facts =>
  typeof facts === 'object' && facts !== null && names.every((name) => name in facts);
