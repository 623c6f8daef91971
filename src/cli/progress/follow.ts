import { setTimeout as sleep } from 'node:timers/promises';
import type { JobPhase, PauseReason } from '../../core/rows/job.js';
import type { Context } from '../shared/context.js';
import type { Session } from '../shared/session.js';
import type { Terminal } from '../shared/terminal.js';
import { printable } from '../text/printable.js';
import { blockedText, type ProgressReader } from './progress.js';
import { type ProgressLine, progressBar, progressText } from './progress-line.js';

/** Shows the state of work at the time of a poll. A value other than null ends the watch with this value. */
type Show<End> = () => End | null | Promise<End | null>;

/**
 * Watches work until it ends, or until its state at a poll ends the watch. Rejects with the error of the result. Once `stopped` is aborted,
 * the promise stays pending.
 */
export async function follow<End extends object>(
  { poll, result }: { poll(): Promise<Show<End>>; result(): Promise<End> },
  { stopped, everyMs }: { readonly stopped: AbortSignal; readonly everyMs: number },
): Promise<End> {
  const ended = result().then(
    (end): Show<End> =>
      () =>
        end,
  );
  // The rejection is handled below. Without this line Node would report a rejection between two polls as unhandled.
  ended.catch(() => undefined);
  const orEnded = async (other: Promise<Show<End> | null>): Promise<End | null> => {
    const show = await Promise.race([ended, other]);
    return stopped.aborted ? null : ((await show?.()) ?? null);
  };
  while (!stopped.aborted) {
    // A failed query says nothing about the work: the server or the worker may be busy.
    const end =
      (await orEnded(poll().catch(() => null))) ??
      (await orEnded(sleep(everyMs, null, { signal: stopped }).catch(() => null)));
    if (end !== null) return end;
  }
  return new Promise<never>(() => undefined);
}

/** Fields of progress that show whether a job waits for a person. */
interface Parkable {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  readonly landing?: boolean;
}

/** A row job or a walk that can be watched. */
interface Followable<Progress, Heartbeat, Summary> {
  readonly workflowId: string;
  progress(): Promise<{
    readonly progress: Progress;
    readonly running: readonly Heartbeat[];
    readonly refusals?: readonly string[];
  }>;
  result(): Promise<Summary>;
}

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
  { terminal }: Context,
  { runtime, stopped }: Pick<Session, 'runtime' | 'stopped'>,
  handle: Followable<Progress, Heartbeat, Summary>,
  reader: Pick<ProgressReader<Progress, Heartbeat>, 'line'>,
  { untilPaused = false }: { readonly untilPaused?: boolean } = {},
): Promise<Followed<Progress, Summary>> {
  type End = Followed<Progress, Summary>;
  const view = new ProgressView(terminal);
  const reported = new Set<string>();
  let parkedSince: number | null = null;
  const poll = async () => {
    // Only the worker sends requests. In a process without the worker, the view of the limiter would be empty.
    const [shown, limits] = await Promise.all([handle.progress(), runtime.clientOnly ? null : runtime.team.limits()]);
    return (): End | null => {
      const { progress, running, refusals = [] } = shown;
      for (const refusal of refusals.filter((one) => !reported.has(one))) terminal.say(printable(refusal));
      for (const refusal of refusals) reported.add(refusal);
      const at = Date.now();
      view.update(reader.line(at, progress, running, blockedText(limits, at)), at);
      const waits =
        progress.phase === 'paused' && (untilPaused || progress.pausedFor !== 'person') && !progress.landing;
      parkedSince = waits ? (parkedSince ?? at) : null;
      return parkedSince !== null && at - parkedSince >= PARKED_AFTER_MS ? { kind: 'parked', progress } : null;
    };
  };
  const result = async (): Promise<End> => ({ kind: 'ended', summary: await handle.result() });
  // A live bar needs frequent polls. Plain lines do not.
  const followed = await follow({ poll, result }, { stopped, everyMs: terminal.live ? 250 : 1000 });
  view.end();
  if (followed.kind === 'parked') await runtime.work.release(handle.workflowId);
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
