import type { TraceOutput } from '../../api/outputs/index.js';
import { type Attempt, costOf, sentCount, unknownMicros } from '../../core/purchase/attempts.js';
import { jobOf } from '../../core/purchase/journal.js';
import { inputText } from '../../core/rows/source-fields.js';
import type { RowState, RowTrace } from '../../worker/runtime/trace-row.js';
import { count, dollars, duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { commandOnOwnLine } from '../text/way-to-resume.js';
import { retryText } from './row-text.js';

/** Most characters of a cell and of a unit. */
const CELL_SHOWN = 200;
const UNIT_SHOWN = 500;
/** Most characters of a kept answer; `--json` has all. */
const ANSWER_SHOWN = 65_536;
/** Most attempts that are printed; the newest are kept. */
const ATTEMPTS_SHOWN = 20;

const stateWords: Readonly<Record<RowState, string>> = {
  notBought: 'not bought yet',
  inFlight: 'a request is in flight',
  unknown: 'unknown outcome: the last request got no answer and may have been charged',
  landed: 'bought, not loaded yet',
  success: 'loaded, success',
  failed: 'loaded, failed',
  quarantined: 'loaded, in quarantine',
  invalid: 'bad row: it is never sent and costs nothing',
  outdated: 'loaded with an answer to other options, which will be replaced',
  vanished: 'vanished from the input; the row and its answer are kept',
};

/** Returns the trace of a row as text, from its input to its warehouse. */
export function traceText(trace: RowTrace, now: number): string {
  return [
    `${printable(trace.job)}, ${trace.row === null ? 'a vanished row' : `row ${count(trace.row)}`}: ${stateText(trace)}`,
    ...field('Why', whyText(trace)),
    ...inputLines(trace),
    ...unitLines(trace),
    ...attemptLines(trace),
    ...answerLines(trace, now),
    ...loadLines(trace),
    ...field('Publish', publishText(trace)),
    ...(trace.help === null ? [] : field('Retry', retryText(trace.help))),
    ...(trace.answer === null ? [] : ['  Kept answer:', printable(trace.answer, ANSWER_SHOWN)]),
    ...trace.problems.flatMap((problem) => field('Not read', printable(problem))),
  ].join('\n');
}

const stateText = ({ state, isPlaceKnown }: RowTrace): string =>
  state === 'landed' && !isPlaceKnown ? 'bought; it is not known whether it is loaded' : stateWords[state];

const field = (name: string, text: string | null): string[] =>
  text === null || text === '' ? [] : [`  ${(name === '' ? '' : `${name}:`).padEnd(10)}${text}`];

const moment = (at: number): string => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');

/** Why the row is in its state, if the state alone does not say so. */
function whyText({ state, bad, isAfterLimit, status, staged, history, place }: RowTrace): string | null {
  if (state === 'invalid') return bad && `${printable(bad.tag)}: ${printable(bad.message)}`;
  if (state === 'vanished' && place?.loaded.vanishedAt)
    return `missing from the input since ${moment(place.loaded.vanishedAt)}`;
  if (state === 'quarantined')
    return 'its answer has values that do not fit their columns; --on-misfit keep shows the row';
  if (!['notBought', 'landed', 'unknown', 'outdated'].includes(state)) return null;
  if (isAfterLimit) return `it is after --limit ${count(staged.limit ?? 0)}; run the command without --limit to buy it`;
  const reason = status.message === null ? '' : `: ${printable(status.message)}`;
  const job = `the job is ${status.phase === 'waiting' ? 'waiting for a worker' : status.phase}${reason}`;
  const held = history.attempts.at(-1)?.outcome === 'free' ? 'its last request failed and was not charged; ' : '';
  return commandOnOwnLine(`${held}${job}`);
}

function inputLines({ staged, input, row }: RowTrace): string[] {
  const from = row === null ? '' : `row ${count(row)} of `;
  return [
    ...field('Input', `${from}${printable(inputText(staged), 300)}`),
    ...input.map((cell, nth) => {
      const name = printable(staged.columns[nth] ?? 'extra cell', 60);
      return `            ${name}: ${cell === null ? '(null)' : printable(cell, CELL_SHOWN)}`;
    }),
  ];
}

function unitLines({ staged, unit, key, sharing, slice, state }: RowTrace): string[] {
  if (key === null || unit === null) return [];
  const { rows, first } = sharing;
  const named = first.map((row) => count(row)).join(', ');
  const more = rows > first.length ? `, … (${count(rows)} in all)` : '';
  const shared =
    rows === 0 ? '' : `shared with row${rows === 1 ? '' : 's'} ${named}${more}; it is bought once for all of them`;
  return [
    ...field('Unit', `${printable(staged.operation)} ${printable(unit, UNIT_SHOWN)}`),
    ...field('', shared),
    ...field('Key', key),
    ...(slice === null || state === 'vanished'
      ? []
      : field('Slice', `${count(slice.number)} (${printable(slice.segment)})`)),
  ];
}

function attemptLines({ history, key, job }: RowTrace): string[] {
  if (key === null) return [];
  const { attempts } = history;
  if (attempts.length === 0) return field('Requests', 'none');
  const { micros, isWhole } = costOf(history);
  const unknown = unknownMicros(history);
  const more = unknown > 0 ? `, and at most ${dollars(unknown)} for unknown outcomes` : '';
  const shown = attempts.slice(-ATTEMPTS_SHOWN);
  const left = attempts.length - shown.length;
  return [
    ...field('Requests', `${count(sentCount(history))}, for ${isWhole ? '' : 'at least '}${dollars(micros)}${more}`),
    ...(left > 0 ? [`            … ${count(left)} earlier`] : []),
    ...shown.map((attempt) => `            ${attemptText(attempt, job)}`),
  ];
}

const outcomeWords: Readonly<Record<Attempt['outcome'], string>> = {
  landed: 'answered',
  free: 'failed, not charged',
  unknown: 'unknown outcome',
  open: 'in flight',
  unsent: 'not sent',
};

function attemptText(attempt: Attempt, job: string): string {
  const { at, endedAt, outcome, requestId, run, reason, units, costMicros, requestMicros, segment } = attempt;
  const took = endedAt === null ? '' : ` after ${duration(Math.max(0, endedAt - at) / 1000)}`;
  const of = units === 1 ? '' : ` of ${dollars(requestMicros)} for ${count(units)} units`;
  const cost =
    outcome === 'landed'
      ? `${costMicros === null ? 'a share' : dollars(costMicros)}${of}`
      : requestMicros > 0
        ? `at most ${dollars(requestMicros)}${units === 1 ? '' : ` for ${count(units)} units`}`
        : '';
  const parts = [
    `${outcomeWords[outcome]}${took}`,
    cost,
    requestId === null ? '' : `request ${printable(requestId, 100)}`,
    run === null ? '' : `run ${printable(run, 100)}`,
    jobOf(segment) === job ? '' : `by the job ${printable(jobOf(segment))}`,
    reason === null ? '' : printable(reason),
  ];
  return `${moment(at)}  ${parts.filter((part) => part !== '').join(', ')}`;
}

function answerLines({ history: { landed } }: RowTrace, now: number): string[] {
  if (landed === null) return [];
  const { fetchedAt, status, errorTag, isBought, bytes, hasBody } = landed;
  const age = duration(Math.max(0, now - fetchedAt) / 1000);
  const result = `${status}${errorTag === null ? '' : ` ${printable(errorTag)}`}`;
  const body = hasBody ? `${count(bytes ?? 0)} bytes in the journal` : 'its body is no longer in the journal';
  const bought = isBought ? '' : ', recorded without a request';
  return field('Answer', `${moment(fetchedAt)} (${age} ago), ${result}${bought}, ${body}`);
}

function loadLines({ place, staged }: RowTrace): string[] {
  if (place === null) return [];
  const { loaded, ledgerAt, misfits } = place;
  const { status, tag, message, httpStatus, requestId, fetchedAt, loadedAt, outdatedAt, slice } = loaded;
  const whole = ledgerAt === null ? 'the slice is not loaded as a whole' : `in the ledger since ${moment(ledgerAt)}`;
  const error = tag === null ? '' : ` ${printable(tag)}`;
  const http = httpStatus === null ? '' : `, HTTP ${httpStatus}`;
  return [
    ...field('Loaded', `${moment(loadedAt)} into ${printable(staged.into)}, slice ${count(slice)}, ${whole}`),
    ...field('Row', `${status}${error}${http}${message ? `: ${printable(message)}` : ''}`),
    ...(fetchedAt === null
      ? []
      : field('', `answer of ${moment(fetchedAt)}${requestId ? `, request ${printable(requestId, 100)}` : ''}`)),
    ...(outdatedAt === null ? [] : field('', `the options of the job changed at ${moment(outdatedAt)}`)),
    ...misfits
      .slice(0, 10)
      .map(
        ({ column, value, expected }) =>
          `            ${printable(column, 60)} (${expected}) is NULL: the value ${printable(JSON.stringify(value), 100)} does not fit`,
      ),
  ];
}

function publishText({ place, state }: RowTrace): string | null {
  const published = place?.published;
  if (!place || !published) return null;
  const to = printable(published.to);
  if (published.error !== null)
    return `not published to ${to} at ${moment(published.at)}: ${printable(published.error)}`;
  const last = `the last publish was to ${to} at ${moment(published.at)}`;
  if (state === 'quarantined') return `${last}; a row in quarantine is not part of it`;
  return place.loaded.loadedAt <= published.at ? last : `${last}, before this row was loaded`;
}

const time = (at: number | null | undefined): string | null => (at == null ? null : new Date(at).toISOString());

/** Returns the trace of a row as JSON fields; dollars are exact to six decimals. */
export function traceData(trace: RowTrace): TraceOutput {
  const { staged, history, place, slice, help, status } = trace;
  const { micros, isWhole } = costOf(history);
  const { landed } = history;
  return {
    kind: 'trace',
    job: trace.job,
    row: trace.row,
    state: trace.state,
    reason: whyText(trace),
    jobState: status.phase,
    source: inputText(staged),
    input: trace.input.map((value, nth) => ({ column: staged.columns[nth] ?? null, value })),
    operation: staged.operation,
    unit: trace.unit,
    unitKey: trace.key,
    sharedWith: { rows: trace.sharing.rows, first: trace.sharing.first },
    slice: slice === null ? null : { number: slice.number, segment: slice.segment, afterLimit: trace.isAfterLimit },
    requests: sentCount(history),
    dollars: micros / 1e6,
    dollarsAreWhole: isWhole,
    unknownDollars: unknownMicros(history) / 1e6,
    attempts: history.attempts.map((attempt) => ({
      at: time(attempt.at),
      endedAt: time(attempt.endedAt),
      job: jobOf(attempt.segment),
      outcome: attempt.outcome,
      requestId: attempt.requestId,
      run: attempt.run,
      reason: attempt.reason,
      units: attempt.units,
      dollars: attempt.costMicros === null ? null : attempt.costMicros / 1e6,
      requestDollars: attempt.requestMicros / 1e6,
    })),
    answer: landed && {
      at: time(landed.fetchedAt),
      status: landed.status,
      tag: landed.errorTag,
      bought: landed.isBought,
      bytes: landed.bytes,
      inJournal: landed.hasBody,
    },
    answerText: trace.answer,
    loaded: place && {
      into: staged.into,
      at: time(place.loaded.loadedAt),
      slice: place.loaded.slice,
      ledgerAt: time(place.ledgerAt),
      status: place.loaded.status,
      tag: place.loaded.tag,
      message: place.loaded.message,
      httpStatus: place.loaded.httpStatus,
      requestId: place.loaded.requestId,
      fetchedAt: time(place.loaded.fetchedAt),
      dollars: place.loaded.costMicros / 1e6,
      outdatedAt: time(place.loaded.outdatedAt),
      vanishedAt: time(place.loaded.vanishedAt),
      misfits: place.misfits,
      quarantined: place.isQuarantined,
    },
    published: place?.published
      ? {
          to: place.published.to,
          at: time(place.published.at),
          error: place.published.error,
          rows: place.published.rows,
        }
      : null,
    retry: help && { retry: help.retry, why: help.why },
    problems: trace.problems,
  };
}
