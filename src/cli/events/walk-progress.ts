import type { WalkHeartbeat, WalkProgress } from '../../core/events/walk-job.js';
import { Speed } from '../progress/progress.js';
import { type ProgressLine, speedText, waitText } from '../progress/progress-line.js';
import { count, duration, some } from '../text/amounts.js';

/** Time and share of a walk that must be measured before its end is estimated. */
const ENOUGH_MS = 5000;
const ENOUGH_PART = 0.02;

/**
 * Turns polls of a walk into progress lines. When a window ends, the heartbeat of the window is missing for a moment. The
 * counts in the lines do not decrease even then.
 */
export class WalkProgressReader {
  readonly #speed = new Speed();
  readonly #end = new EndOfWalk();
  #events = 0;
  #added = 0;
  #changed = 0;

  /** `blocked`: the reason that blocks all calls of the team, or null. */
  line(at: number, progress: WalkProgress, running: readonly WalkHeartbeat[], blocked: string | null): ProgressLine {
    const loading = (name: 'events' | 'added' | 'changed') => running.reduce((sum, one) => sum + (one[name] ?? 0), 0);
    this.#events = Math.max(this.#events, progress.events + loading('events'));
    this.#added = Math.max(this.#added, progress.added + loading('added'));
    this.#changed = Math.max(this.#changed, progress.changed + loading('changed'));
    const { phase, pausedFor } = progress;
    const { part, secondsLeft } = this.#end.estimate(at, progress, running);
    const waitingFor = blocked ?? running.find((one) => one.waitingFor !== null)?.waitingFor ?? null;
    return {
      part,
      facts: [
        some(this.#events, 'event'),
        ...speedText(this.#speed.at(at, this.#events), 'events'),
        ...(secondsLeft === null || phase !== 'running' ? [] : [`${duration(Math.ceil(secondsLeft))} left`]),
        ...(this.#added + this.#changed < this.#events ? [`${count(this.#added)} new`] : []),
      ],
      alarm: null,
      notes: [],
      waits: waitText({ phase, pausedFor, waitingFor }, 'listing events'),
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
