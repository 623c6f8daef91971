import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { LimiterView } from '../../core/limiter/limiter.js';
import type { JobProgress, SliceHeartbeat } from '../../core/row-job-schemas.js';
import { costText } from '../../core/rows/job.js';
import type { PauseReason } from '../../core/rows/job-names.js';
import type { ShownProgress } from '../../worker/config/runtime-types.js';
import type { WorkflowHandle } from '../../worker/control/workflow-handle.js';
import type { Session } from '../shared/session.js';
import type { Terminal } from '../shared/terminal.js';
import { count, duration, printable } from '../text.js';

const BAR = 24;

export interface ProgressLine {
  /** Share that is done, 0 to 1; null if unknown. */
  readonly part: number | null;
  /** Amounts, speed and time left. `part` is the share of the first amount that is done. */
  readonly facts: readonly string[];
  /** A problem, such as failed rows. */
  readonly alarm: string | null;
  /** Details that a log shows and that are too long for the line of a bar. */
  readonly notes: readonly string[];
  readonly waits: string | null;
}

/** Returns one line that fits the terminal. The line has a bar, amounts, speed, time left, problems, and the reason of a wait. */
export function progressBar(shown: ProgressLine, columns: number, colors: Terminal['colors']): string {
  const { part, alarm, waits } = shown;
  const full = Math.floor((part ?? 0) * BAR);
  const bar = `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(BAR - full))}`;
  const facts = [...(part === null ? [] : [`${Math.floor(part * 100)}%`]), ...shown.facts].join('  ');
  const wrong = alarm === null ? '' : `  ${colors.red(alarm)}`;
  const line = `${bar} ${facts}${wrong}`;
  const room = columns - 1 - stripVTControlCharacters(line).length;
  // A line that wraps cannot be redrawn. So a narrow terminal gets no bar.
  if (room < 0) return `${facts}${alarm === null ? '' : `  ${alarm}`}`.slice(0, Math.max(0, columns - 1));
  return waits === null || room < 12 ? line : `${line}  ${colors.yellow(printable(waits, room - 2))}`;
}

export function progressText({ part, facts, alarm, notes, waits }: ProgressLine): string {
  const percent = part === null ? '' : ` (${Math.floor(part * 100)}%)`;
  const [first = '', ...rest] = facts;
  const others = [...(alarm === null ? [] : [alarm]), ...notes, ...(waits === null ? [] : [printable(waits)])];
  return [`${first}${percent}`, ...rest, ...others].join(', ');
}

const paused: Readonly<Record<PauseReason, string>> = {
  person: 'paused; continue with `searchflow resume`',
  credits: 'paused: no credits left',
  budget: 'paused: its budget is used up',
  key: 'paused: the service refuses the API key',
  rate: 'paused: the service asks to wait more than an hour',
  service: 'paused: the answers are not usable',
  request: 'paused: the service refuses the requests',
  failed: 'paused: too many answers failed',
};

/** The time in ms over which speed is measured: long enough that the time left does not jump after a retried slice or a large load. */
const WINDOW_MS = 15_000;
/** The least time in ms over which it is measured. */
const LEAST_MS = 500;

/** Counts and speed of work, from its polls. */
export function meter() {
  const largest = new Map<string, number>();
  const polls: { readonly at: number; readonly done: number; readonly part: number | null }[] = [];
  const most = (name: string, value: number): number => {
    const now = Math.max(largest.get(name) ?? 0, value);
    largest.set(name, now);
    return now;
  };
  return {
    most,
    /**
     * Adds the counts of running slices or windows to the count of the others. When a slice moves to another worker, or a window ends, its
     * heartbeat is missing for a moment. The result does not decrease even then.
     */
    count: <Heartbeat>(name: keyof Heartbeat & string, counted: number, running: readonly Heartbeat[]): number =>
      most(
        name,
        running.reduce((sum, one) => sum + Number(one[name] ?? 0), counted),
      ),
    /** Returns the speed, such as `311 rows/s`, and the time left; empty until half a second was measured. */
    pace(at: number, what: string, done: number, part: number | null, isRunning: boolean): readonly string[] {
      polls.push({ at, done, part });
      // The newest poll before the window is kept as the start of the measurement.
      while (polls.length > 2 && (polls[1]?.at ?? at) <= at - WINDOW_MS) polls.shift();
      const [first = { at, done }] = polls;
      if (at - first.at < LEAST_MS) return [];
      const speed = ((done - first.done) * 1000) / (at - first.at);
      const pace = `${count(speed >= 10 ? Math.round(speed) : Math.round(speed * 10) / 10)} ${what}/s`;
      const from = polls.find((one) => one.part !== null && at - one.at >= LEAST_MS);
      if (part === null || !from || !isRunning) return [pace];
      // Negative if the range of a walk has grown.
      const partSpeed = ((part - (from.part ?? 0)) * 1000) / (at - from.at);
      return partSpeed > 0 ? [pace, `${duration(Math.ceil((1 - part) / partSpeed))} left`] : [pace];
    },
  };
}

/** Turns the polls of a job into progress lines. */
export interface ProgressReader<Progress, Heartbeat> {
  /**
   * Returns the progress line of a poll. `at`: Unix ms. `running`: the slices or windows in progress. `blocked`: the reason that blocks all
   * calls of the team, or null.
   */
  line(at: number, progress: Progress, running: readonly Heartbeat[], blocked: string | null): ProgressLine;
}

/** Returns the reason that blocks all calls of the team, or null. */
export function blockedText(limits: LimiterView | null, now: number): string | null {
  if (limits?.blockedUntil == null || limits.blockedUntil <= now) return null;
  const seconds = Math.ceil((limits.blockedUntil - now) / 1000);
  return `blocked for ${seconds} s${limits.blockReason ? ` by ${limits.blockReason}` : ''}`;
}

/**
 * Returns the reason of a wait, or null. `preparing`: the text of the planning phase. A running job has a message only while it is being
 * cancelled.
 */
export function waitText(
  { phase, pausedFor, message }: Pick<JobProgress, 'phase' | 'pausedFor' | 'message'>,
  running: readonly { readonly waitingFor: string | null }[],
  blocked: string | null,
  preparing: string,
): string | null {
  if (phase === 'paused') return paused[pausedFor ?? 'person'];
  const waitingFor = blocked ?? running.find((one) => one.waitingFor !== null)?.waitingFor ?? null;
  if (phase === 'running' && pausedFor === null && message !== null) return message;
  return waitingFor ?? (phase === 'planning' ? preparing : null);
}

export function rowProgress(): ProgressReader<JobProgress, SliceHeartbeat> {
  const { count: counted, pace } = meter();
  return {
    line(at, progress, running, blocked) {
      const { phase, rows, maxCostMicros = null, retrying = 0, unknownOutcomes } = progress;
      const done = Math.min(rows, counted('landed', progress.rowsDone, running));
      const costMicros = counted('costMicros', progress.costMicros, running);
      const earlierMicros = counted('earlierMicros', progress.earlierMicros ?? 0, running);
      const failed = counted('failed', progress.failed, running);
      const part = rows === 0 ? null : done / rows;
      return {
        part,
        facts: [
          `${count(done)}/${count(rows)} rows`,
          ...pace(at, 'rows', done, part, phase !== 'paused' && blocked === null),
          costText({ costMicros, earlierMicros, maxCostMicros }),
          ...(retrying > 0 ? [`trying ${count(retrying)} failed once more`] : []),
        ],
        alarm: failed > 0 ? `${count(failed)} failed` : null,
        notes: unknownOutcomes > 0 ? [`${count(unknownOutcomes)} unknown outcomes`] : [],
        waits: waitText(progress, running, blocked, 'preparing the warehouse'),
      };
    },
  };
}

interface Watchable<State, End> {
  poll(): Promise<State>;
  /** Shows the state of a poll. A value other than null ends the watch with this value. */
  show(state: State): End | null | Promise<End | null>;
  result(): Promise<End>;
}

/**
 * Watches work until it ends, or until its state at a poll ends the watch. Rejects with the error of the result. Once `stopped` is aborted,
 * the promise stays pending.
 */
export async function follow<State, End extends object>(
  { poll, show, result }: Watchable<State, End>,
  { stopped, everyMs }: { readonly stopped: AbortSignal; readonly everyMs: number },
): Promise<End> {
  const ended = result().then((end) => ({ end }));
  // The rejection is handled below. Without this line Node would report a rejection between two polls as unhandled.
  ended.catch(() => undefined);
  // A failed query says nothing about the work: the server or the worker may be busy.
  const polled = () =>
    poll()
      .then((state) => ({ state }))
      .catch(() => null);
  while (!stopped.aborted) {
    const seen = await Promise.race([ended, polled()]);
    if (stopped.aborted) break;
    const end = seen && ('end' in seen ? seen.end : await show(seen.state));
    if (end !== null) return end;
    const last = await Promise.race([ended, sleep(everyMs, null, { signal: stopped }).catch(() => null)]);
    if (last !== null && !stopped.aborted) return last.end;
  }
  return new Promise<never>(() => undefined);
}

/** Fields of progress that show whether a job waits for a person. */
type Parkable = Pick<JobProgress, 'phase' | 'pausedFor'> & { readonly landing?: boolean };

/** Why watching ended: the job has ended or waits for a person. */
type Followed<Progress, Summary> =
  | { readonly kind: 'ended'; readonly summary: Summary }
  | { readonly kind: 'parked'; readonly progress: Progress };

/** A pause counts only after this time in ms, because a poll right after a resume may still return the old pause. */
const PARKED_AFTER_MS = 2000;

/**
 * Watches a job and shows its progress until the job ends, or until it is paused for a reason that needs a person (credits, key, budget,
 * rate). This command then gives up the ownership of the job. A job that a person paused is still watched, unless `untilPaused`.
 */
export async function followJob<Progress extends Parkable, Heartbeat, Summary>(
  { terminal, runtime, stopped }: Pick<Session, 'terminal' | 'runtime' | 'stopped'>,
  handle: Pick<WorkflowHandle<ShownProgress<Progress, Heartbeat>, Summary>, 'workflowId' | 'progress' | 'result'>,
  reader: ProgressReader<Progress, Heartbeat>,
  { untilPaused = false }: { readonly untilPaused?: boolean } = {},
): Promise<Followed<Progress, Summary>> {
  type End = Followed<Progress, Summary>;
  const view = new ProgressView(terminal);
  const reported = new Set<string>();
  let parkedSince: number | null = null;
  // Only the worker sends requests. In a process without the worker, the view of the limiter would be empty.
  const poll = () => Promise.all([handle.progress(), runtime.clientOnly ? null : runtime.team.limits()]);
  const show = ([shown, limits]: Awaited<ReturnType<typeof poll>>): End | null => {
    const { progress, running, refusals = [] } = shown;
    for (const refusal of refusals.filter((one) => !reported.has(one))) terminal.say(printable(refusal));
    for (const refusal of refusals) reported.add(refusal);
    const at = Date.now();
    view.update(reader.line(at, progress, running, blockedText(limits, at)), at);
    const waits = progress.phase === 'paused' && (untilPaused || progress.pausedFor !== 'person') && !progress.landing;
    parkedSince = waits ? (parkedSince ?? at) : null;
    return parkedSince !== null && at - parkedSince >= PARKED_AFTER_MS ? { kind: 'parked', progress } : null;
  };
  const result = async (): Promise<End> => ({ kind: 'ended', summary: await handle.result() });
  // A live bar needs frequent polls. Plain lines do not.
  const followed = await follow({ poll, show, result }, { stopped, everyMs: terminal.live ? 250 : 1000 });
  view.end();
  if (followed.kind === 'parked') await runtime.release(handle.workflowId);
  return followed;
}

/** Shortest time between two lines of a log, in ms. Each tenth of the work gets a line even earlier. */
const LINE_EVERY_MS = 5000;
/** Shortest time from the last line to a line about a new wait, in ms. */
const WAIT_EVERY_MS = 1000;

/** Shortest time between two lines about work without a known amount, in ms. */
const TEXT_EVERY_MS = 10_000;

/** Shows progress, or a text about work without a known amount: as a live line on a terminal, otherwise as plain lines. */
export class ProgressView {
  readonly #terminal: Terminal;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastTenth = 0;
  #lastText = '';
  #waited = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `at`: milliseconds of a monotonic clock. */
  update(shown: ProgressLine | string, at: number): void {
    const { live, columns, colors } = this.#terminal;
    const line = typeof shown === 'string' ? null : shown;
    if (live) {
      this.#terminal.show(line ? progressBar(line, columns(), colors) : String(shown));
      return;
    }
    const tenth = Math.floor((line?.part ?? 0) * 10);
    const waits = typeof line?.waits === 'string';
    const every = line === null ? TEXT_EVERY_MS : waits && !this.#waited ? WAIT_EVERY_MS : LINE_EVERY_MS;
    if (at - this.#lastAt < every && tenth === this.#lastTenth) return;
    this.#waited = waits;
    const text = line ? progressText(line) : String(shown);
    this.#lastAt = at;
    this.#lastTenth = tenth;
    if (text === this.#lastText) return;
    this.#lastText = text;
    this.#terminal.note(text);
  }

  end(): void {
    this.#terminal.show('');
  }
}
