import type { WalkSummary } from '../events/walk-job.js';
import type { PublishOutcome } from '../publish-request.js';
import type { UnknownOutcome } from '../purchase/journal.js';
import type { JobPhase, JobSummary, PauseReason } from '../rows/job.js';
import type { Pause } from '../rows/pause.js';
import type { WarehouseSummary } from '../rows/row-warehouse.js';
import { count, some } from '../text/count.js';
import { dollars, toDollars } from '../text/money.js';
import { shellWord } from '../text/shell-word.js';
import type { AlertFact } from './alert.js';

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

/**
 * Why a job waits or ended, in words of this program. The message of a failure may quote a row, an answer or an address, so alerts never have
 * one, except where it has only numbers.
 */
const reasons: Readonly<Record<PauseReason, string>> = {
  person: 'a person paused or stopped it, or its command ended',
  credits: "the team's credits at the service are used up",
  budget: 'a cap is reached',
  key: 'the service refused the API key',
  rate: 'the service asks for a wait of more than an hour',
  service: 'answers did not come from the service: a proxy or a captive portal may answer instead',
  request: 'the service refuses its requests',
  failed: 'too many of its answers failed',
};

/** A name as a text for people has it. Angle brackets would be markup for some receivers. */
export const named = (name: string): string =>
  name
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
    .replace(/[<>&]/g, '?')
    .slice(0, 200);

const statusOf = (job: string): string => `searchflow status ${shellWord(job)}`;
const resumeOf = (job: string): string => `searchflow resume ${shellWord(job)}`;

/** The names of a run in the data of its alerts. */
function aboutRun({ job, kind, run, origin, scheduled }: AlertRun) {
  return { job, kind, run, origin, scheduled };
}

const words: Readonly<Record<AlertRun['kind'], string>> = {
  rows: 'Job',
  walk: 'Walk',
  export: 'Export',
  batch: 'Batch',
};
const subject = ({ kind, job }: AlertRun): string => `${words[kind]} ${named(job)}`;

/** The end of a run of a job of rows: done or stopped, and what else a person may want to know of it. */
export function endOfRows(
  run: AlertRun,
  summary: Pick<JobSummary, 'phase' | 'requests' | 'costMicros' | 'seconds' | 'warehouse'>,
  stopped: Pause | null,
  published: PublishOutcome | null = null,
): readonly AlertFact[] {
  const { warehouse, requests, costMicros, seconds } = summary;
  const { rows, error, invalid, missing } = warehouse;
  const failed = error + invalid;
  const counts = { rows, failedRows: failed, missingRows: missing, requests, dollars: toDollars(costMicros) };
  const figures = `${some(rows, 'row')}, ${some(failed, 'failed row')}, ${dollars(costMicros)} in this run`;
  if (stopped !== null) return [stoppedFact(run, stopped, { ...counts, seconds }, figures)];
  if (published !== null && published.error !== null) {
    const next = `searchflow publish ${shellWord(run.job)} --to …`;
    return [
      {
        type: 'job.stopped',
        key: [run.run],
        text: `${subject(run)} stopped: all rows are loaded, but not published. Its reason: ${statusOf(run.job)}`,
        data: { ...aboutRun(run), reason: 'publish', ...counts, seconds, next },
      },
    ];
  }
  return [
    {
      type: 'job.done',
      key: [run.run],
      text: `${subject(run)} is done: ${figures}.`,
      data: { ...aboutRun(run), ...counts, seconds, next: failed > 0 ? statusOf(run.job) : null },
    },
  ];
}

function stoppedFact(run: AlertRun, stopped: Pause, counts: object, figures: string | null): AlertFact {
  const next = run.scheduled ? statusOf(run.job) : resumeOf(run.job);
  return {
    type: 'job.stopped',
    key: [run.run],
    text: `${subject(run)} stopped: ${whyOf(stopped)}.${figures === null ? '' : ` So far: ${figures}.`} Next: ${next}`,
    data: { ...aboutRun(run), reason: stopped.reason, ...counts, next },
  };
}

/** A budget's message has only amounts, times and commands. */
function whyOf({ reason, message }: Pause): string {
  return reason === 'budget' ? `${message.replace(/\.$/, '')}` : reasons[reason];
}

/** Misfits and changed columns of a run. */
export function findingsOfRows(run: AlertRun, warehouse: WarehouseSummary): readonly AlertFact[] {
  const facts: AlertFact[] = [];
  const misfits = Object.entries(warehouse.misfits ?? {});
  const values = misfits.reduce((sum, [, count]) => sum + count, 0);
  if (values > 0) {
    const next = statusOf(run.job);
    facts.push({
      type: 'job.misfits',
      key: [run.run],
      text: `${subject(run)}: ${some(values, 'value')} in ${some(misfits.length, 'column')} do not fit the type of the column; the table misfits lists them. Next: ${next}`,
      data: { ...aboutRun(run), values, columns: misfits.length, next },
    });
  }
  const changes = warehouse.schemaChanges ?? [];
  if (run.scheduled && changes.length > 0) {
    const how = (change: string) => changes.filter((one) => one.change === change).length;
    const [added, removed, retyped] = [how('added'), how('removed'), how('type')];
    const next = statusOf(run.job);
    facts.push({
      type: 'job.schema_changed',
      key: [run.run],
      text: `${subject(run)}: its columns changed since the run before: ${added} added, ${removed} removed, ${retyped} with another type. Next: ${next}`,
      data: { ...aboutRun(run), added, removed, retyped, next },
    });
  }
  return facts;
}

/** The unknown outcomes of a run that began at `startedAt` (Unix ms); none without any. More of them are another alert. */
export function unknownOfRun(
  run: AlertRun,
  unknown: readonly UnknownOutcome[],
  startedAt: number,
): readonly AlertFact[] {
  const own = unknown.filter(({ intendedAt }) => intendedAt >= startedAt);
  if (own.length === 0) return [];
  const micros = own.reduce((sum, { estimateMicros }) => sum + estimateMicros, 0);
  const next = statusOf(run.job);
  return [
    {
      type: 'job.unknown_outcomes',
      key: [run.run, own.length],
      text: `${subject(run)}: ${some(own.length, 'request')} got no answer and may have been charged, at most ${dollars(micros)}. Next: ${next}`,
      data: { ...aboutRun(run), outcomes: own.length, mostDollars: toDollars(micros), next },
    },
  ];
}

/** A job that waits for a person. `since`: the beginning of the pause in Unix ms. */
export function pauseOfRun(run: AlertRun, paused: Pause, since: number): AlertFact {
  const next = resumeOf(run.job);
  const why = whyOf(paused);
  // The message of a budget ends with a command, which a dot would change.
  const way = why.includes('searchflow resume') ? '' : `. Fix this, then: ${next}`;
  return {
    type: 'job.paused',
    key: [run.run, since],
    text: `${subject(run)} is paused: ${why}${way}`,
    data: { ...aboutRun(run), reason: paused.reason, since: new Date(since).toISOString(), next },
  };
}

/** How a run ended, or waits, where only its workflow knows it. */
export interface RunState {
  readonly phase: Extract<JobPhase, 'failed' | 'stopped' | 'paused'>;
  readonly reason?: PauseReason;
  /** Type of the failure of a failed run. */
  readonly failure?: string;
  /** Unix ms. */
  readonly since: number;
}

/** The alert of a run whose state only its workflow knows. */
export function stateOfRun(run: AlertRun, { phase, reason = 'person', failure, since }: RunState): AlertFact {
  const pause: Pause = { reason, message: reasons[reason] };
  if (phase === 'paused') return pauseOfRun(run, pause, since);
  if (phase === 'stopped') return stoppedFact(run, pause, {}, null);
  const next = statusOf(run.job);
  // The types of failures are words of this program; anything else may come from elsewhere.
  const type = /^[A-Za-z][\w.]{0,60}$/.test(failure ?? '') ? failure : 'Error';
  return {
    type: 'job.failed',
    key: [run.run],
    text: `${subject(run)} failed (${type}). Its reason: ${next}`,
    data: { ...aboutRun(run), failure: type, next },
  };
}

/** The end of a walk, as its last activity knows it. */
export function endOfWalk(
  run: AlertRun,
  summary: Pick<WalkSummary, 'phase' | 'events' | 'added' | 'seconds'>,
): AlertFact {
  const { phase, events, added, seconds } = summary;
  const counts = { events, addedEvents: added, seconds };
  const next = statusOf(run.job);
  if (phase === 'stopped')
    return {
      type: 'job.stopped',
      key: [run.run],
      text: `${subject(run)} stopped before its end; the next run continues. Its reason: ${next}`,
      data: { ...aboutRun(run), reason: null, ...counts, next },
    };
  return {
    type: 'job.done',
    key: [run.run],
    text: `${subject(run)} is done: ${some(events, 'event')}, ${count(added)} new.`,
    data: { ...aboutRun(run), ...counts, next: null },
  };
}
