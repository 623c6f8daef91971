import type { Output } from '../../api/command-outputs.js';
import type { JobState } from '../../core/job-entry-schemas.js';
import { exitCodeOfPause } from '../../core/processes/exit-codes.js';
import { isLeftRunning } from '../../core/purchase/failure-tags.js';
import { retriedTags } from '../../core/purchase/freshness.js';
import type { UnknownOutcome } from '../../core/purchase/journal.js';
import type { JobProgress, JobSummary } from '../../core/row-job-schemas.js';
import { codeOfPause, inOneSentence, nextText } from '../../core/rows/pause.js';
import { buysPages } from '../../core/rows/row-operation.js';
import { schemaChangesText } from '../../core/rows/schema-changes.js';
import { warningText } from '../../core/rows/warnings.js';
import { shellWord } from '../../core/text/shell-word.js';
import type { WalkProgress } from '../../core/workflow-result-schemas.js';
import type { BadRow, JobPlan } from '../../worker/config/runtime-types.js';
import type { Context, ExitCode } from '../shared/command.js';
import type { SandboxBill } from '../shared/embedded-sandbox.js';
import { fixText } from '../shared/failure-text.js';
import type { Session } from '../shared/session.js';
import {
  count,
  dollars,
  duration,
  isoTime,
  lines,
  printable,
  printableLines,
  programOf,
  resumeCommand,
  sentence,
  some,
} from '../text.js';
import { badRowLines, restText } from './plan.js';

export interface Ending {
  readonly summary: JobSummary;
  readonly origin: string;
  readonly badRows: readonly BadRow[];
  readonly unknown: readonly UnknownOutcome[];
  readonly bill: SandboxBill | null;
  readonly csv: string | null;
  /** Plan of the run; it includes the rows after `--limit`. */
  readonly plan?: Pick<JobPlan, 'staged' | 'estimateIsMost' | 'rest'> | undefined;
  /** `false`: the job is only shown; nothing was run. */
  readonly ran: boolean;
}

const SHOWN = 10;
/** A difference between cost and estimate is reported if it is larger than this share of the estimate. */
const NOTABLE = 0.05;
/** Returns the summary as text. Its commands are those that a person typed in this environment. */
export function summaryText(ending: Ending, env: Readonly<Record<string, string | undefined>> = {}): string {
  const { summary, bill, plan, ran } = ending;
  const { message, warehouse, retried } = summary;
  const { discarded = 0, schemaChanges } = warehouse;
  const program = programOf(env);
  const tags = Object.entries(warehouse.tags).sort(([, a], [, b]) => b - a);
  const left = leftRunning(ending);
  // Rows whose retry buys nothing, because their runs are left running, have a line of their own.
  const retryable = rowsWith(summary, (tag) => retriedTags.includes(tag) && !isLeftRunning(tag));
  return lines(
    headline(ending),
    message !== undefined && printable(message),
    statusLines(summary),
    tags.map(([tag, rows]) => `    ${count(rows).padStart(9)}  ${printable(tag)}`),
    badRowLines(ending.badRows, warehouse.invalid),
    misfitText(summary),
    schemaChanges && `Schema changed since the run before: ${printable(schemaChangesText(schemaChanges))}`,
    warningLines(summary),
    publishText(summary),
    left &&
      `Left running past --max-run-time: ${left.text}; error_message has the ids. None is bought twice. To follow them again${retryCommand(summary, program)}`,
    discarded > 0 &&
      `Discarded or forgotten: ${some(discarded, 'row')} that ${discarded === 1 ? 'does' : 'do'} not count as failed.`,
    retried &&
      `Tried once more: ${some(retried.units, 'failed unit')}, ${count(Math.max(0, retried.units - retried.failedAgain))} succeeded.`,
    retryable > 0 &&
      `${some(retryable, 'failed row')} may succeed later; error_message has the reasons. To buy ${retryable === 1 ? 'it' : 'them'} again${retryCommand(summary, program)}`,
    ran ? moneyLine(summary, left) : `Bought in all: ${dollars(summary.totalCostMicros)}.`,
    bill !== null && billLine(summary, bill),
    unknownLines(ending),
    `${ran ? 'Written' : 'Files'}: ${writtenText(ending)}`,
    plan?.rest && `Remaining: ${restText(plan, plan.rest)}. Run the same command without --limit to buy only these.`,
  );
}

function writtenText({ summary: { into, warehouse }, csv }: Ending): string {
  const view = warehouse.view === undefined ? '' : ` (view ${printable(warehouse.view)})`;
  return `${printable(into)}${view}${csv === null ? '' : `, ${printable(csv)}`}`;
}

/** Returns a text about the runs at the service that took longer than --max-run-time and are left running; null without such runs. */
const rowsWith = ({ warehouse: { tags } }: JobSummary, isOne: (tag: string) => boolean): number =>
  Object.entries(tags).reduce((sum, [tag, rows]) => sum + (isOne(tag) ? rows : 0), 0);

function leftRunning({ summary, plan }: Ending) {
  const rows = rowsWith(summary, isLeftRunning);
  if (rows === 0) return null;
  // If several rows share a run, the number of rows is known here, but not the number of runs.
  if ((plan?.staged.rowsPerRun ?? 1) > 1) return { text: `the runs of ${some(rows, 'row')}`, verb: 'were' };
  return { text: some(rows, 'run'), verb: rows === 1 ? 'was' : 'were' };
}

function misfitText({ warehouse: { misfits = {} } }: JobSummary): string | null {
  const columns = Object.entries(misfits).sort(([, a], [, b]) => b - a);
  if (columns.length === 0) return null;
  const all = columns.reduce((sum, [, values]) => sum + values, 0);
  const shown = columns.slice(0, SHOWN).map(([name, values]) => `${printable(name)} ${count(values)}`);
  const more = columns.length > SHOWN ? `, and ${some(columns.length - SHOWN, 'more column')}` : '';
  const verb = all === 1 ? 'does not fit its column and is' : 'do not fit their columns and are';
  return `${some(all, 'value')} ${verb} NULL there (table misfits): ${shown.join(', ')}${more}`;
}

function warningLines({ warnings = [] }: JobSummary): string[] {
  const of = (kind: 'warning' | 'notice') => warnings.filter((one) => one.kind === kind).map(warningText);
  const line = (one: string, name: string) => `${name} of the service: ${printable(one)}`;
  return [...of('warning').map((one) => line(one, 'Warning')), ...of('notice').map((one) => line(one, 'Notice'))];
}

function publishText({ published, warehouse }: JobSummary): string | null {
  const outcome = published ?? warehouse.published;
  if (!outcome) return null;
  const to = printable(outcome.to);
  // The message of the run has the reason and what to do.
  if (outcome.error !== null) return published ? null : `Not published to ${to}: ${printable(outcome.error)}`;
  return outcome.changed
    ? `Published: ${some(outcome.rows, 'row')} to ${to}`
    : `Published: ${to} has these rows already`;
}

/** Returns the command that buys failed rows again, after a colon. It needs a complete job. */
function retryCommand({ name, warehouse }: JobSummary, program: string): string {
  return `${warehouse.missing === 0 ? '' : ' when the job is complete'}: ${program} retry ${printable(shellWord(name))}`;
}

function headline({ summary, ran }: Ending): string {
  const { rows, missing } = summary.warehouse;
  const name = printable(summary.name);
  const tried = summary.limit === undefined ? '' : `the first ${count(summary.limit)} of `;
  if (ran)
    return `${summary.phase.replace(/^./, (first) => first.toUpperCase())}: ${tried}${some(rows, 'row')} of ${name} in ${duration(summary.seconds)}.`;
  if (missing === 0) return `${name}: complete, ${some(rows, 'row')}.`;
  return `${name}: ${count(rows - missing)} of ${some(rows, 'row')} loaded.`;
}

function statusLines({ warehouse, limit }: JobSummary): string[] {
  const counts: [string, number, string][] = [
    ['success', warehouse.success, ''],
    ['error', warehouse.error, ''],
    ['invalid', warehouse.invalid, 'bad rows, not bought'],
    ['missing', warehouse.missing, limit === undefined ? 'not loaded yet' : 'not loaded yet, most are after the limit'],
    ['vanished', warehouse.vanished, 'no longer in the input; kept'],
  ];
  return counts
    .filter(([name, rows]) => rows > 0 || name === 'success')
    .map(([name, rows, note]) => `  ${count(rows).padStart(9)}  ${name}${note ? ` (${note})` : ''}`);
}

function moneyLine(summary: JobSummary, left: ReturnType<typeof leftRunning>): string {
  const before = summary.totalCostMicros - summary.costMicros;
  const total = before > 0 ? `; ${dollars(summary.totalCostMicros)} over all runs of the job` : '';
  const { failed = 0 } = summary;
  if (summary.requests === 0 && failed > 0 && left === null)
    return `Nothing was bought in this run: no request succeeded, and ${some(failed, 'unit')} failed${total}.`;
  // Requests of an attempt that was killed may have been refused, so this does not say that none was sent.
  if (summary.requests === 0)
    return left === null
      ? `Nothing was bought in this run: nothing was left to buy${total}.`
      : `Nothing was charged in this run: ${left.text} ${left.verb} left running at the service${total}.`;
  const { requests, costMicros, estimateMicros } = summary;
  const cost = `${dollars(costMicros)} (estimate of these requests ${dollars(estimateMicros)})`;
  return `Bought with ${some(requests, 'request')} for ${cost}${total}.${differenceText(summary)}`;
}

/** Returns a sentence if the cost differs much from the estimate of the same requests; otherwise an empty text. */
function differenceText({ costMicros, estimateMicros }: JobSummary): string {
  if (estimateMicros <= 0) return '';
  const more = costMicros - estimateMicros;
  if (Math.abs(more) <= NOTABLE * estimateMicros) return '';
  const percent = `${count(Math.round((100 * Math.abs(more)) / estimateMicros))}%`;
  return more > 0
    ? ` This is ${percent} more than their estimate; the service's prices are higher than the price table.`
    : ` This is ${percent} less than their estimate.`;
}

function billLine(summary: JobSummary, bill: SandboxBill): string {
  if (bill.micros === summary.totalCostMicros)
    return `The sandbox's bill matches: ${dollars(bill.micros)}, ${some(bill.requests, 'request')}.`;
  return `The sandbox's bill for all jobs of this folder, with lost answers: ${dollars(bill.micros)}, ${some(bill.requests, 'request')}.`;
}

/** Cost in micro-dollars if the service charged for all unknown outcomes; null if not all of them are listed. */
function unknownMicros({ summary, unknown }: Pick<Ending, 'summary' | 'unknown'>): number | null {
  if (unknown.length < summary.unknownOutcomes) return null;
  return unknown.reduce((sum, { estimateMicros }) => sum + estimateMicros, 0);
}

function unknownLines(ending: Ending): string | null {
  const all = Math.max(ending.summary.unknownOutcomes, ending.unknown.length);
  if (all === 0) return null;
  const shown = ending.unknown.slice(0, SHOWN);
  const most = unknownMicros(ending);
  return lines(
    `${some(all, 'unknown outcome')} (sent, no answer, possibly charged${most === null ? '' : `: at most ${dollars(most)}`}):`,
    shown.map(({ intendedAt, operation, keys, estimateMicros, reason }) => {
      const of = buysPages(operation) ? ` of ${some(keys.length, 'URL')}` : '';
      return `  ${isoTime(intendedAt)} ${printable(operation)}${of}, at most ${dollars(estimateMicros)}: ${printable(reason, 160)}`;
    }),
    shown.length === 0
      ? '  see the table unknown_outcomes'
      : all > shown.length && `  and ${count(all - shown.length)} more (table unknown_outcomes)`,
  );
}

export async function endingOf({ runtime, config }: Pick<Session, 'runtime' | 'config'>, job: string): Promise<Ending> {
  const [summary, unknown] = await Promise.all([runtime.rows.summary(job), runtime.rows.unknownOutcomes(job)]);
  return { summary, unknown, bill: null, csv: summary.csv, origin: config.origin, badRows: [], ran: false };
}

/** Returns the summary of a job that ended before this command, with the figures of its last run, if they are known. */
export function endedData(ending: Ending, lastRun: JobState['run']): Output<'endedSummary'> {
  const none = { requests: null, costMicros: null, estimateMicros: null, seconds: null };
  return { ...summaryData(ending), ...(lastRun ?? none) };
}

export function summaryData(ending: Ending): Output<'summary'> {
  const { summary, unknown, bill, plan, origin, csv, badRows } = ending;
  return {
    kind: 'summary',
    ...summary,
    ...{ origin, csv, sandboxBill: bill, rest: plan?.rest ?? undefined },
    unknownOutcomes: Math.max(summary.unknownOutcomes, unknown.length),
    unknownMicros: unknownMicros(ending),
    unknownOutcomeExamples: unknown.slice(0, SHOWN).map(({ keys, ...one }) => ({ ...one, units: keys.length })),
    badRowExamples: badRows.slice(0, SHOWN),
  };
}

export function pausedText(
  { pausedFor, message, next }: Pick<JobProgress, 'pausedFor' | 'message' | 'next'>,
  args: readonly string[],
  env: Context['env'],
  kept = 'Paid results',
): string {
  const reason = `Paused${pausedFor ? ` (${pausedFor})` : ''}: ${sentence(printable(message ?? 'no reason given'))}`;
  // For these reasons the command as it was typed would pause again.
  if (next && pausedFor !== null && ['budget', 'request', 'failed'].includes(pausedFor))
    return `${reason} ${printableLines(nextText(next, programOf(env)))}\n${kept} are kept.`;
  return `${reason}\n${kept} are kept. To resume after fixing this:\n  ${resumeCommand(args, env)}`;
}

export function showPause(
  { terminal, args, env }: Context,
  job: string,
  paused: JobProgress | WalkProgress,
  kept?: string,
): ExitCode {
  const code = codeOfPause(paused);
  terminal.result({ kind: 'paused', job, ...inOneSentence(paused), code } as Output<'paused' | 'pausedWalk'>);
  terminal.say(pausedText(paused, args, env, kept));
  terminal.say(terminal.colors.dim(fixText(code)));
  return exitCodeOfPause(paused.pausedFor);
}
