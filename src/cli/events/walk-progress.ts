import type { WalkHeartbeat, WalkProgress } from '../../core/events/walk-job.js';
import { ProgressReader, Speed, speedText, waitText } from '../progress/progress.js';
import type { ProgressLine } from '../progress/progress-line.js';
import { count, duration, some } from '../text/amounts.js';

/** Time and share of a walk that must be measured before its end is estimated. */
const ENOUGH_MS = 5000;
const ENOUGH_PART = 0.02;

/** Turns polls of a walk into progress lines. */
export class WalkProgressReader extends ProgressReader<WalkProgress, WalkHeartbeat> {
  readonly #end = new EndOfWalk();

  line(at: number, progress: WalkProgress, running: readonly WalkHeartbeat[], blocked: string | null): ProgressLine {
    const events = this.count('events', progress.events, running);
    const added = this.count('added', progress.added, running);
    const changed = this.count('changed', progress.changed, running);
    const { part, secondsLeft } = this.#end.estimate(at, progress, running);
    return {
      part,
      facts: [
        some(events, 'event'),
        ...speedText(this.speed.at(at, events), 'events'),
        ...(secondsLeft === null || progress.phase !== 'running' || blocked !== null
          ? []
          : [`${duration(Math.ceil(secondsLeft))} left`]),
        ...(added + changed < events ? [`${count(added)} new`] : []),
      ],
      alarm: null,
      notes: [],
      waits: waitText(progress, running, blocked, 'listing events'),
    };
  }
}

/** Estimates the finished share of a walk, and the time to its end at the current speed. Gives no time until enough was measured. */
class EndOfWalk {
  #speed = new Speed();
  #lengthMs = 0;
  #part = 0;
  #first: { readonly at: number; readonly part: number } | null = null;

  estimate(
    at: number,
    { share, lengthMs = 0 }: WalkProgress,
    running: readonly WalkHeartbeat[],
  ): { readonly part: number | null; readonly secondsLeft: number | null } {
    if (share === null) return { part: null, secondsLeft: null };
    const covered = running.reduce((sum, one) => sum + (one.coveredMs ?? 0), 0);
    const now = Math.min(1, share + (lengthMs > 0 ? covered / lengthMs : 0));
    // If the length of the walk changes, earlier measurements are useless.
    if (lengthMs !== this.#lengthMs) [this.#speed, this.#part, this.#first] = [new Speed(), 0, null];
    this.#lengthMs = lengthMs;
    this.#part = Math.max(this.#part, now);
    return { part: this.#part, secondsLeft: this.#secondsLeft(at) };
  }

  #secondsLeft(at: number): number | null {
    const part = this.#part;
    // Nothing is estimated yet, because the first page may skip years without events.
    if (part === 0) return null;
    this.#first ??= { at, part };
    const first = this.#first;
    const perSecond = this.#speed.at(at, part) ?? 0;
    const enough = at - first.at >= ENOUGH_MS && part - first.part >= ENOUGH_PART;
    return enough && perSecond > 0 ? (1 - part) / perSecond : null;
  }
}
