import type { Output } from '../../api/command-outputs.js';
import type { RetryHelp } from '../../core/purchase/retry-help.js';
import { nearest } from '../../core/text/nearest.js';
import type { TracedName } from '../../worker/runtime/traced-rows.js';
import { readAll, wrong } from '../flag-values.js';
import type { Context, ExitCode, Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { columns, count, dollars, duration, type Fact, isoTime, lines, printable, some, toDo } from '../text.js';

/** Rows that are listed by default. */
const USUAL_ROWS = 20;
/** Most characters of a tag, of a unit and of a message in the list. */
const TAG_SHOWN = 60;
const UNIT_SHOWN = 80;
const MESSAGE_SHOWN = 160;

export async function failed(context: Context, job: string, flags: Flags<'failed'>): Promise<ExitCode> {
  const { tag: tags = [] } = flags;
  const { limit = USUAL_ROWS } = flags;
  return withRuntime(context, settings(context, {}), { bounded: true }, async ({ runtime }) => {
    const found = await runtime.rows.failed(job, { tags, limit });
    if (found.rows > 0 || context.terminal.json) context.terminal.print(found, failedText(found));
    if (found.rows === 0)
      context.terminal.note(
        tags.length === 0
          ? `No loaded row of ${printable(found.job)} has failed.`
          : noTagText(await runtime.rows.failed(job, { tags: [], limit: 0 }), tags),
      );
  });
}

function noTagText({ job, byTag }: Output<'failed'>, tags: readonly string[]): string {
  const known = byTag.flatMap(({ tag }) => tag ?? []);
  const meant = tags.flatMap((tag) => nearest(tag, known) ?? []).map((tag) => printable(tag));
  const list = known.slice(0, 10).map((tag) => printable(tag));
  const next =
    known.length === 0
      ? 'No loaded row has failed.'
      : meant.length > 0
        ? `Did you mean ${meant.join(', ')}?`
        : `The tags of failed rows are ${list.join(', ')}${known.length > list.length ? ', …' : ''}.`;
  return `No failed row of ${printable(job)} has the tag ${tags.map((tag) => printable(tag)).join(' or ')}. ${next}`;
}

const tagText = (tag: string | null): string => printable(tag ?? '(no tag)', TAG_SHOWN);
const retryWords = { free: 'free', charged: 'may be charged again', none: 'cannot help' } as const;

export const retryText = ({ retry, why }: RetryHelp): string => `${retryWords[retry]}: ${why}`;

function failedText({ job, byTag, rows, listed }: Output<'failed'>): string {
  const table = columns([
    ['tag', 'rows', 'units', 'cost'],
    ...byTag.map((one) => [tagText(one.tag), count(one.rows), count(one.units), dollars(one.costMicros)]),
  ]);
  const width = Math.max(...table.map((line) => line.length));
  const notes = ['retry', ...byTag.map(retryText)];
  const more = rows - listed.length;
  const retried = byTag.filter(({ retry }) => retry !== 'none').reduce((sum, one) => sum + one.rows, 0);
  const first = listed[0]?.row ?? null;
  return lines(
    table.map((line, nth) => `${line.padEnd(width)}  ${notes[nth]}`),
    listed.length > 0 && ['', ...listed.map(rowText)],
    more > 0 && listed.length > 0 && `… and ${some(more, 'more row')} (--limit, --tag)`,
    retried > 0 && `\nA retry can help ${some(retried, 'row')}. ${toDo('To plan it', 'retry', job)}`,
    first !== null && toDo('To trace a row', 'trace', job, '--row', String(first)),
  );
}

function rowText(row: Output<'failed'>['listed'][number]): string {
  const { message, unit, input } = row;
  const least = row.costIsWhole ? '' : 'at least ';
  const unknown = row.unknownMicros > 0 ? `, possibly ${dollars(row.unknownMicros)} more` : '';
  const tries =
    row.status === 'invalid'
      ? 'never sent'
      : `${some(row.attempts, 'attempt')}, ${least}${dollars(row.costMicros)}${unknown}`;
  // The data of a forgotten row is gone.
  const isEmpty = !unit && input.every((cell) => cell === null);
  const shown = isEmpty ? '(no data)' : printable(unit ?? input.map((cell) => cell ?? '').join(', '), UNIT_SHOWN);
  return lines(
    `row ${count(row.row ?? 0)}  ${tagText(row.tag)}  ${tries}  ${shown}`,
    message && `    ${printable(message, MESSAGE_SHOWN)}`,
  );
}

/** Most characters of a cell, of a unit, and of a kept answer; `--json` has all. */
const CELL_SHOWN = 200;
const TRACED_UNIT_SHOWN = 500;
const ANSWER_SHOWN = 65_536;
/** Most attempts that are printed; the newest are kept. */
const ATTEMPTS_SHOWN = 20;
const MISFITS_SHOWN = 10;

export async function trace(context: Context, job: string, flags: Flags<'trace'>): Promise<ExitCode> {
  const { name, mistakes } = readAll({ name: () => readName(flags) });
  return withRuntime(context, settings(context, {}, mistakes), { bounded: true }, async ({ runtime }) => {
    const traced = await runtime.rows.trace(job, flags.answer ? { ...name, withAnswer: true } : name);
    context.terminal.print(traced, traceText(traced, Date.now()));
  });
}

function readName({ row, url }: Flags<'trace'>): TracedName {
  if (row === undefined && url === undefined) wrong('Name the row: --row N, its number in the input, or --url URL.');
  return url === undefined ? { row: row ?? 0 } : { url };
}

const stateWords: Readonly<Record<Output<'trace'>['state'], string>> = {
  notBought: 'not bought yet',
  inFlight: 'a request is in flight',
  unknown: 'unknown outcome: the last request got no answer and may have been charged',
  landed: 'bought, not loaded yet',
  success: 'loaded, success',
  failed: 'loaded, failed',
  invalid: 'bad row: it is never sent and costs nothing',
  outdated: 'loaded with an answer to other options, which will be replaced',
  vanished: 'vanished from the input; the row and its answer are kept',
};

const moment = (at: number): string => isoTime(at).replace('T', ' ').replace('Z', ' UTC');
/** Parts of a sentence, without the absent ones. */
const joined = (...parts: readonly (string | false | null | undefined)[]): string => parts.filter(Boolean).join(', ');

/** Returns the trace of a row as text, from its input to its warehouse. A fact without a name continues the one before. */
function traceText(trace: Output<'trace'>, now: number): string {
  const { row, state, reason, input, loaded, problems, answerText } = trace;
  const isUnread = state === 'landed' && loaded === null && problems.length > 0;
  const facts: readonly Fact[] = [
    ['Why', reason && printable(reason)],
    ['Input', `${row === null ? '' : `row ${count(row)} of `}${printable(trace.source, 300)}`],
    ...input.map(({ column, value }): Fact => {
      const cell = value === null ? '(null)' : printable(value, CELL_SHOWN);
      return ['', `${printable(column ?? 'extra cell', 60)}: ${cell}`];
    }),
    ...(trace.unitKey === null ? [] : [...unitFacts(trace), ...requestFacts(trace)]),
    ['Answer', answerLine(trace, now)],
    ...(loaded ? loadFacts(loaded) : []),
    ['Publish', publishText(trace)],
    ['Retry', trace.retry && retryText(trace.retry)],
    ['Kept answer', answerText === null ? null : ''],
  ];
  const shown = facts.filter(([, text]) => text !== null);
  return lines(
    `${printable(trace.job)}, ${row === null ? 'a vanished row' : `row ${count(row)}`}: ${isUnread ? 'bought; it is not known whether it is loaded' : stateWords[state]}`,
    shown.map(([name, text]) => `  ${(name === '' ? '' : `${name}:`).padEnd(10)}${text}`.trimEnd()),
    answerText !== null && printable(answerText, ANSWER_SHOWN),
    problems.map((problem) => `  Not read: ${printable(problem)}`),
  );
}

function unitFacts({ operation, unit, unitKey, sharedWith, slice }: Output<'trace'>): Fact[] {
  const { rows, first } = sharedWith;
  const named = `${first.map((row) => count(row)).join(', ')}${rows > first.length ? `, … (${count(rows)} in all)` : ''}`;
  return [
    ['Unit', `${printable(operation)} ${printable(unit ?? '', TRACED_UNIT_SHOWN)}`],
    ['', rows === 0 ? null : `shared with row${rows === 1 ? '' : 's'} ${named}; it is bought once for all of them`],
    ['Key', unitKey],
    ['Slice', slice && `${count(slice.number)} (${printable(slice.segment)})`],
  ];
}

function requestFacts(trace: Output<'trace'>): Fact[] {
  const { attempts, requests, costMicros, costIsWhole, unknownMicros, job } = trace;
  if (attempts.length === 0) return [['Requests', 'none']];
  const unknown = unknownMicros > 0 && `and at most ${dollars(unknownMicros)} for unknown outcomes`;
  const left = attempts.length - ATTEMPTS_SHOWN;
  return [
    ['Requests', joined(count(requests), `for ${costIsWhole ? '' : 'at least '}${dollars(costMicros)}`, unknown)],
    ['', left > 0 ? `… ${count(left)} earlier` : null],
    ...attempts.slice(-ATTEMPTS_SHOWN).map((attempt): Fact => ['', attemptText(attempt, job)]),
  ];
}

const outcomeWords: Readonly<Record<Output<'trace'>['attempts'][number]['outcome'], string>> = {
  landed: 'answered',
  free: 'failed, not charged',
  unknown: 'unknown outcome',
  open: 'in flight',
  unsent: 'not sent',
};

function attemptText(attempt: Output<'trace'>['attempts'][number], job: string): string {
  const { at, endedAt, outcome, requestId, run, reason, units, costMicros, requestMicros } = attempt;
  const seconds = endedAt === null ? null : Math.max(0, endedAt - at) / 1000;
  const many = units === 1 ? '' : ` for ${count(units)} units`;
  const cost =
    outcome === 'landed'
      ? `${costMicros === null ? 'a share' : dollars(costMicros)}${many && ` of ${dollars(requestMicros)}${many}`}`
      : requestMicros > 0 && `at most ${dollars(requestMicros)}${many}`;
  return `${moment(at)}  ${joined(
    `${outcomeWords[outcome]}${seconds === null ? '' : ` after ${duration(seconds)}`}`,
    cost,
    requestId && `request ${printable(requestId, 100)}`,
    run && `run ${printable(run, 100)}`,
    attempt.job !== job && `by the job ${printable(attempt.job)}`,
    reason && printable(reason),
  )}`;
}

function answerLine({ answer }: Output<'trace'>, now: number): string | null {
  if (answer === null) return null;
  const age = duration(Math.max(0, now - answer.at) / 1000);
  return joined(
    `${moment(answer.at)} (${age} ago)`,
    `${answer.status}${answer.tag === null ? '' : ` ${printable(answer.tag)}`}`,
    !answer.bought && 'recorded without a request',
    answer.inJournal ? `${count(answer.bytes ?? 0)} bytes in the journal` : 'its body is no longer in the journal',
  );
}

function loadFacts(loaded: NonNullable<Output<'trace'>['loaded']>): Fact[] {
  const { status, tag, message, httpStatus, requestId, fetchedAt, ledgerAt, outdatedAt, slice } = loaded;
  const whole = ledgerAt === null ? 'the slice is not loaded as a whole' : `in the ledger since ${moment(ledgerAt)}`;
  const result = joined(
    tag === null ? status : `${status} ${printable(tag)}`,
    httpStatus !== null && `HTTP ${httpStatus}`,
  );
  const request = requestId && `request ${printable(requestId, 100)}`;
  return [
    ['Loaded', `${moment(loaded.at)} into ${printable(loaded.into)}, slice ${count(slice)}, ${whole}`],
    ['Row', message ? `${result}: ${printable(message)}` : result],
    ['', fetchedAt === null ? null : joined(`answer of ${moment(fetchedAt)}`, request)],
    ['', outdatedAt === null ? null : `the options of the job changed at ${moment(outdatedAt)}`],
    ...loaded.misfits.slice(0, MISFITS_SHOWN).map(({ column, value, expected }): Fact => {
      const shown = printable(JSON.stringify(value), 100);
      return ['', `${printable(column, 60)} (${expected}) is NULL: the value ${shown} does not fit`];
    }),
  ];
}

function publishText({ published, loaded }: Output<'trace'>): string | null {
  if (published === null) return null;
  const { to, at, error } = published;
  const where = `to ${printable(to)} at ${moment(at)}`;
  if (error !== null) return `not published ${where}: ${printable(error)}`;
  return `the last publish was ${where}${(loaded?.at ?? 0) > at ? ', before this row was loaded' : ''}`;
}
