import { BUDGET_EXCEEDED } from '../choices.js';
import { codeOfCap } from '../errors/code-of.js';
import type { ErrorCode } from '../errors/registry.js';
import type { JournalTotals } from '../purchase/journal.js';
import type { JobProgress, NextAction, PublishOutcome, ServiceWarning, StopAtFailed } from '../row-job-schemas.js';
import { count, sentence } from '../text/count.js';
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

/** What is said of a job, and what a person does next; absent: nothing, or only the usual. */
export interface Said<Message extends string | null = string | null> {
  readonly message: Message;
  readonly next?: NextAction | undefined;
}

/** Returns the whole text in one line, for machines, alerts and Temporal's UI; null without a message. */
export function sentenceOf<Message extends string | null>({ message, next }: Said<Message>): Message {
  if (message === null || !next) return message;
  const way = next.command === null ? next.text : `${next.text}: searchflow ${next.command}`;
  return `${sentence(message)} ${way}` as Message;
}

export const inOneSentence = <S extends Said>({ next, ...said }: S) => ({
  ...said,
  message: sentenceOf({ message: said.message, next }),
});

export const nextText = ({ text, command }: NextAction, program = 'searchflow'): string =>
  command === null ? `${text}.` : `${text}:\n  ${program} ${command}`;

/** The step that continues a job: the command that resumes it, or the schedule that starts its next run. */
export const toContinue = (job: string, schedule?: string): NextAction =>
  schedule === undefined ? nextOf(job) : { text: 'To run it now', command: `schedule trigger ${shellWord(schedule)}` };

/** Returns what continues a job: a person's command, after `text`, or the next run of its schedule. */
const nextOf = (
  job: string | null,
  text = 'To resume it',
  scheduled = 'The next run continues',
  flags = '',
): NextAction =>
  job === null ? { text: scheduled, command: null } : { text, command: `resume ${shellWord(job)}${flags}` };

export interface Pause extends Said<string> {
  readonly reason: PauseReason;
  /** For the reason `budget`: the owner of the cap that is reached. */
  readonly cap?: JobProgress['cap'];
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

type Purchased = Pick<JournalTotals, 'openSinceMicros'> & { readonly committedMicros: number };

/** Returns the amounts that count under the cap of a run. `before`, `now`: purchases for the job before the run, and so far. */
export function spentOf(operation: string, before: Purchased, now: Purchased): RunSpend {
  const countedMicros = now.committedMicros - before.committedMicros;
  const heldMicros = Math.min(Math.max(0, countedMicros), now.openSinceMicros);
  return { countedMicros, heldMicros, heldFor: isLongRunning(operation) ? 'runs' : 'requests' };
}

export const CANCEL_WAITS = 'it was cancelled, and a worker must end it';

/** If answers cost more than this multiple of their list price, the message of a pause says so. */
const DEARER = 1.05;

/** What to do about the failures that a person can fix before the job is resumed, by the reason of the pause, then by tag or type. */
const remedies: Readonly<Partial<Record<PauseReason, Readonly<Record<string, string>>>>> = {
  credits: {
    NO_MORE_CREDITS: "the team's prepaid credits are used up. Buy more credits",
    API_KEY_BUDGET_EXCEEDED: "this API key's budget at the service is used up. Raise it there or use another key",
    TEAM_BUDGET_EXCEEDED: "the team's budget at the service is used up. Raise it there",
    PaymentRequired: "the service requires payment. Check the team's credits and the key's budget",
  },
  key: {
    ApiKeyMissing: 'the request had no API key. Set SEARCHFLOW_API_KEY',
    Unauthorized: 'the service refuses the API key. Set a valid key in SEARCHFLOW_API_KEY',
  },
  rate: { RateLimited: 'the service asks for a wait of more than an hour. Wait that long' },
  service: {
    ResponseShape: 'the service answers in an unknown form. Check SEARCHFLOW_BASE_URL, and update searchflow',
    [SERVICE_UNRECOGNIZED]:
      'a proxy, a captive portal or a maintenance page may answer instead. Check the network and SEARCHFLOW_BASE_URL',
  },
  budget: { [BUDGET_EXCEEDED]: 'a budget is used up. Raise it' },
  request: { [ALL_REFUSED]: 'correct the request' },
};
const fixable = new Map(
  Object.entries(remedies).flatMap(([reason, byType]) =>
    Object.entries(byType).map(([type, remedy]) => [type, { reason: reason as PauseReason, remedy }]),
  ),
);

/** Returns the reason of a pause for a type of failure; null where a pause does not help. */
export const pauseReasonOf = (type: unknown): PauseReason | null => fixable.get(String(type))?.reason ?? null;

/** The error code of each reason, the exit code of a command (default: `stopped`), and why a job waits or ended, in words for alerts. */
export const pauseFacts: Readonly<
  Record<PauseReason, { readonly code: ErrorCode; readonly exit?: 'account' | 'budget'; readonly words: string }>
> = {
  person: { code: 'job-paused', words: 'a person paused or stopped it, or its command ended' },
  credits: { code: 'credits-used-up', exit: 'account', words: "the team's credits at the service are used up" },
  budget: { code: 'budget-reached', exit: 'budget', words: 'a cap is reached' },
  key: { code: 'key-refused', exit: 'account', words: 'the service refused the API key' },
  rate: { code: 'rate-limited', words: 'the service asks for a wait of more than an hour' },
  service: {
    code: 'service-unrecognized',
    words: 'answers did not come from the service: a proxy or a captive portal may answer instead',
  },
  request: { code: 'requests-refused', words: 'the service refuses its requests' },
  failed: { code: 'too-many-failures', words: 'too many of its answers failed' },
};

export function codeOfPause({ pausedFor, cap }: Pick<JobProgress, 'pausedFor' | 'cap'>): ErrorCode {
  return pausedFor === 'budget' ? codeOfCap(cap) : pauseFacts[pausedFor ?? 'person'].code;
}

/**
 * Returns the pause for a failure; null if a pause does not help. `job` is the name for `resume`; null for a scheduled run, which ends
 * instead of pausing. `maxCostMicros` is the cap of the run. `spent`: null if unknown.
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
    return { reason, cap: facts.scope, ...ofBudget(facts, job, maxCostMicros, spent) };
  if (reason === 'request' && has<AllRefusedFacts>(facts, 'requests', 'rows'))
    return { reason, ...ofRefusals(failure.message, facts, job) };
  const fix = (has<{ tag: string }>(facts, 'tag') && fixable.get(facts.tag)) || fixable.get(failure.type);
  return { reason, message: `${failure.message}: ${fix?.remedy}`, next: nextOf(job) };
}

/** Returns the pause of a job whose answers fail too often. `job`: the name for `resume`; null for a scheduled run. */
export function failedPause(counts: AnswerCounts, limit: Required<StopAtFailed>, job: string | null): Pause {
  const { answered, failed, tags } = counts;
  const [most] = Object.entries(tags).sort(([, a], [, b]) => b - a);
  const tag = most === undefined ? '' : `, most often with ${most[0]} (${count(most[1])})`;
  const share = Math.floor((1000 * failed) / answered) / 10;
  return {
    reason: 'failed',
    message: `${count(failed)} of ${count(answered)} answers failed (${share}%)${tag}; the job pauses if ${limitText(limit)}`,
    next: nextOf(
      job,
      `${CORRECT}, or remove the limit (--stop-at-failed none). To accept these failures and count again`,
      'Correct the request or these rows; the next run buys the rest and counts again',
    ),
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
  return {
    reason: 'service',
    message: `${which} nothing usable: ${sentence(why)}${see} Check SEARCHFLOW_BASE_URL, the request and the service`,
    next: nextOf(job, 'To continue'),
  };
}

const CORRECT = "Correct the request and run the job's command again";

const WARNINGS_SHOWN = 5;

/** Returns the pause of a job whose first answers have warnings; `job` as for {@link failedPause}. */
export function warningPause(warnings: readonly ServiceWarning[], job: string | null): Pause {
  const shown = warnings.slice(0, WARNINGS_SHOWN).map(warningText).join('; ');
  const flags = [...new Set(warnings.map(({ code }) => code))].map((code) => ` --accept-warning ${shellWord(code)}`);
  const accepting = flags.join('');
  const scheduled = `Correct the request, or accept the warnings and create the schedule again:${accepting}`;
  return {
    reason: 'request',
    message: `The service warns about the request: ${shown}. The answers so far are kept`,
    next: nextOf(job, `${CORRECT}. To accept the warnings and continue`, scheduled, accepting),
  };
}

/** Returns what is said of a run whose rows are loaded, but not published; `job` as for {@link failedPause}. */
export function publishFailed({ to, error }: PublishOutcome, job: string | null): Said<string> {
  const next =
    job === null
      ? nextOf(null, '', 'Fix this; the next run publishes the rows')
      : {
          text: "Fix this and run the job's command again; nothing is bought twice. Or",
          command: `publish ${shellWord(job)} --to ${shellWord(to)}`,
        };
  return { message: `All rows are loaded, but not published to ${to}: ${error}`, next };
}

function ofRefusals(refusal: string, { requests, rows }: AllRefusedFacts, job: string | null): Said<string> {
  return {
    message: `${refusal}. The service refused ${requests} requests and accepted none of this run; the job has ${count(rows)} rows`,
    next: nextOf(
      job,
      `${CORRECT}. To record such rows as failed and continue`,
      'Correct the request or these rows; the next run continues. To record such rows as failed, create the schedule again with --skip-refused',
      ' --skip-refused',
    ),
  };
}

/**
 * Returns what is said of a failure that ends a job, with what to do about a refused request; parameters as for {@link pauseOf}. The remedy
 * of a wrong request is to correct the request: `resume` would send it again.
 */
export function endingFor({ type, message, details }: Failure, job: string | null): Said<string> {
  const where = 'Check the address of the service (SEARCHFLOW_BASE_URL)';
  if (type === 'NotFound') return { message: `${sentence(message)} ${where}`, next: nextOf(job) };
  if (type !== 'InvalidRequest') return { message };
  const remedy = isTooLarge(details) ? 'Make the request smaller' : 'Correct the request';
  const next = job === null ? '; the next run continues' : " and run the job's command again";
  return { message, next: { text: `${remedy}${next}`, command: null } };
}

/** Whether a request with a single unit was refused for its size, by the service or by a proxy before the service. */
const isTooLarge = (facts: unknown): boolean =>
  has<{ status: unknown }>(facts, 'status') && [413, 414].includes(Number(facts.status));

function ofBudget(
  facts: OverBudgetFacts,
  job: string | null,
  maxCostMicros: number | null,
  spent: RunSpend | null,
): Said<string> {
  const { scope, capMicros, remainingMicros, resetsAt, multiple = 0 } = facts;
  const dearer =
    multiple > DEARER ? ` (the service charges up to ${multiple.toFixed(1)} times the price of the price table)` : '';
  if (scope === 'job') {
    const cap = maxCostMicros ?? capMicros;
    const counted = spent?.countedMicros ?? cap - remainingMicros;
    const enough = Math.ceil((2 * Math.max(cap, counted)) / 10_000) / 100;
    return {
      message: `${usedText(`this run's budget of ${dollars(cap)}`, counted, spent)}, and the rest is not enough for another request${dearer}`,
      next: nextOf(
        job,
        'To raise the budget and resume',
        'The next run continues with the same budget',
        ` --max-cost ${enough}`,
      ),
    };
  }
  if (scope === 'worker') {
    const counted = spent?.countedMicros ?? capMicros - remainingMicros;
    const budget = `the worker's budget of ${dollars(capMicros)} for a run of a job`;
    const setting = 'maxCostPerJob (SEARCHFLOW_MAX_COST_PER_JOB)';
    return {
      message: `${usedText(budget, counted, spent)}, and the rest is not enough for another request`,
      next: nextOf(
        job,
        `Raise ${setting}, restart the worker and run`,
        `Raise ${setting}; the next scheduled run starts with a new budget of the same size`,
      ),
    };
  }
  const day = new Date(resetsAt ?? 0).toISOString().replace('.000Z', 'Z');
  const spentText = `${dollars(capMicros - remainingMicros)} of the team's budget of ${dollars(capMicros)} a ${scope}`;
  return {
    message: `${spentText} is spent or in flight${dearer}; the ${scope} ends at ${day}`,
    next: nextOf(
      job,
      `Wait until then, or raise --per-${scope} of the team's limits; then run`,
      `The first run after that continues, or an earlier one after the budget is raised (searchflow limits set --per-${scope})`,
    ),
  };
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
