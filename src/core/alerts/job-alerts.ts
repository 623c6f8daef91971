import type { UnknownOutcome } from '../purchase/journal.js';
import type { JobSummary, PublishOutcome } from '../row-job-schemas.js';
import type { JobPhase, PauseReason } from '../rows/job-names.js';
import { type Pause, pauseFacts, sentenceOf } from '../rows/pause.js';
import { count, some } from '../text/count.js';
import { dollars, toDollars } from '../text/money.js';
import { commandLine } from '../text/shell-word.js';
import type { WalkSummary } from '../workflow-result-schemas.js';
import type { AlertFact, AlertType } from './alert.js';

/** A run of a job, a walk or an export, as its alerts name it. */
export interface AlertRun {
  readonly job: string;
  readonly kind: 'rows' | 'walk' | 'export' | 'batch';
  /** Id of the run: its alerts have ids of their own. */
  readonly run: string;
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  /** Whether a schedule started the run. */
  readonly scheduled: boolean;
}

/** A name as a text for people has it. Angle brackets would be markup for some receivers. */
export const named = (name: string): string =>
  name
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
    .replace(/[<>&]/g, '?')
    .slice(0, 200);

const words = { rows: 'Job', walk: 'Walk', export: 'Export', batch: 'Batch' } as const;

/** An alert of a run. `text`: what happened to the job, without its name. */
function factOf(
  type: AlertType,
  { job, kind, run, origin, scheduled }: AlertRun,
  text: string,
  data: object,
  key: readonly number[] = [],
): AlertFact {
  const about = { job, kind, run, origin, scheduled };
  return { type, key: [run, ...key], text: `${words[kind]} ${named(job)}${text}`, data: { ...about, ...data } };
}

export function endOfRows(
  run: AlertRun,
  summary: Pick<JobSummary, 'requests' | 'costMicros' | 'seconds' | 'warehouse'>,
  stopped: Pause | null,
  published: PublishOutcome | null = null,
): AlertFact {
  const { warehouse, requests, costMicros, seconds } = summary;
  const { rows, error, invalid, missing: missingRows } = warehouse;
  const failedRows = error + invalid;
  const counts = { rows, failedRows, missingRows, requests, dollars: toDollars(costMicros), seconds };
  const figures = `${some(rows, 'row')}, ${some(failedRows, 'failed row')}, ${dollars(costMicros)} in this run`;
  if (stopped !== null) return stoppedFact(run, stopped, counts, ` So far: ${figures}.`);
  if (published !== null && published.error !== null) {
    const data = { reason: 'publish', ...counts, next: `${commandLine('publish', run.job)} --to …` };
    const text = ` stopped: all rows are loaded, but not published. Its reason: ${commandLine('status', run.job)}`;
    return factOf('job.stopped', run, text, data);
  }
  const next = failedRows > 0 ? commandLine('status', run.job) : null;
  return factOf('job.done', run, ` is done: ${figures}.`, { ...counts, next });
}

function stoppedFact(run: AlertRun, stopped: Pause, counts: object, figures: string): AlertFact {
  const next = run.scheduled ? commandLine('status', run.job) : commandLine('resume', run.job);
  const text = ` stopped: ${whyOf(stopped)}.${figures} Next: ${next}`;
  return factOf('job.stopped', run, text, { reason: stopped.reason, ...counts, next });
}

/** A failure's message may quote a row, an answer or an address. A budget's message has only amounts, times and commands. */
const whyOf = (pause: Pause): string =>
  pause.reason === 'budget' ? sentenceOf(pause) : pauseFacts[pause.reason].words;

/** The unknown outcomes of a run since a time (Unix ms); none without any. The same outcomes are one alert in each report. */
export function unknownOfRun(run: AlertRun, unknown: readonly UnknownOutcome[], since: number): readonly AlertFact[] {
  const own = unknown.filter(({ intendedAt }) => intendedAt >= since);
  if (own.length === 0) return [];
  const micros = own.reduce((sum, { estimateMicros }) => sum + estimateMicros, 0);
  const next = commandLine('status', run.job);
  const text = `: ${some(own.length, 'request')} got no answer and may have been charged, at most ${dollars(micros)}. Next: ${next}`;
  const data = { outcomes: own.length, mostDollars: toDollars(micros), next };
  const times = own.map(({ intendedAt }) => intendedAt).sort((a, b) => a - b);
  return [{ ...factOf('job.unknown_outcomes', run, text, data), key: [run.job, ...times] }];
}

/** A job that waits for a person. `since`: the beginning of the pause in Unix ms. */
export function pauseOfRun(run: AlertRun, paused: Pause, since: number): AlertFact {
  const next = commandLine('resume', run.job);
  const why = whyOf(paused);
  // The message about a cap ends with a command, which a dot would change.
  const way = paused.cap !== undefined ? '' : `. Fix this, then: ${next}`;
  const data = { reason: paused.reason, since: new Date(since).toISOString(), next };
  return factOf('job.paused', run, ` is paused: ${why}${way}`, data, [since]);
}

/** How a run ended, or waits, where only its workflow knows it. */
export interface RunState {
  readonly phase: Extract<JobPhase, 'failed' | 'stopped' | 'paused'>;
  readonly reason?: PauseReason;
  readonly failure?: string;
  /** Unix ms. */
  readonly since: number;
}

/** The alert of a run whose state only its workflow knows. */
export function stateOfRun(run: AlertRun, { phase, reason = 'person', failure = '', since }: RunState): AlertFact {
  const pause: Pause = { reason, message: pauseFacts[reason].words };
  if (phase === 'paused') return pauseOfRun(run, pause, since);
  if (phase === 'stopped') return stoppedFact(run, pause, {}, '');
  const next = commandLine('status', run.job);
  // The types of failures are words of this program; anything else may come from elsewhere.
  const type = /^[A-Za-z][\w.]{0,60}$/.test(failure) ? failure : 'Error';
  return factOf('job.failed', run, ` failed (${type}). Its reason: ${next}`, { failure: type, next });
}

/** The end of a walk, as its last activity knows it. */
export function endOfWalk(
  run: AlertRun,
  { phase, events, added: addedEvents, seconds }: Pick<WalkSummary, 'phase' | 'events' | 'added' | 'seconds'>,
): AlertFact {
  const counts = { events, addedEvents, seconds };
  if (phase !== 'stopped') {
    const text = ` is done: ${some(events, 'event')}, ${count(addedEvents)} new.`;
    return factOf('job.done', run, text, { ...counts, next: null });
  }
  const next = commandLine('status', run.job);
  const text = ` stopped before its end; the next run continues. Its reason: ${next}`;
  return factOf('job.stopped', run, text, { reason: null, ...counts, next });
}
