import type { BodySpace } from '../../api/wire/transport-options.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';
import { BodyMemory } from '../../core/purchase/body-memory.js';
import { waiting } from './failure.js';

const FIRST = 32;
/** The least number of permits while answers wait for room: enough for the next answers to arrive in time. */
const LEAST = 16;
/** While requests wait for a permit, there is one more permit after each of these times: 100 a second, as the highest limit of the service. */
const RISE_MS = 10;
/** Time in ms for which a turn may wait for a permit. */
const TURN_MS = 1000;
/** Share of the latest permit in the mean time. */
const NEW_SHARE = 0.1;

/**
 * Bounds the number of paid requests that one worker process has in flight. Groups of callers, such as jobs, get permits in rotation, and
 * the callers of one group in the order in which they came. So a small job does not wait for all requests of a large one.
 *
 * The number of permits is as low as the speed of the process allows. It begins low, and rises with each request that ends, and with time. If
 * answers wait for room, more requests would not make the process faster: then the number falls to that of the answers that do not wait.
 */
export class InFlight {
  /** Requests that were sent and whose answers are not on the disk yet. */
  sent = 0;
  readonly #most: number;
  /** The number of permits at the moment. */
  #limit: number;
  #inside = 0;
  /** Mean time in ms for which a permit was held lately. */
  #meanMs = 1000;
  /** The time, by the monotonic clock, at which the caller that was sent away last comes back. */
  #freeAt = 0;
  #rise: NodeJS.Timeout | null = null;
  readonly #room = new AnswerRoom(() => this.#lower());
  /** The waiting callers of each group. The group that is next in the rotation comes first. */
  readonly #waiting = new Map<string, WaitQueue<null>>();

  constructor(limit: number) {
    this.#most = limit;
    this.#limit = Math.min(limit, FIRST);
  }

  /** Takes a permit; the caller releases the permit with `leave`. Rejects with the signal's reason if the signal is aborted first. */
  enter(signal: AbortSignal, group = ''): Promise<void> {
    if (!signal.aborted && this.#inside < this.#limit) {
      this.#inside++;
      return Promise.resolve();
    }
    const queue = this.#waiting.get(group) ?? new WaitQueue<null>();
    this.#waiting.set(group, queue);
    if (this.#limit < this.#most) this.#riseLater();
    return queue.wait(null, { signal });
  }

  /**
   * Takes a permit for a caller that must not wait long; returns whether the turn of the caller is still its turn. After `patienceMs` rejects with `Waiting`, with
   * the time after which a permit is likely to be free: callers that are sent away come back one after the other.
   */
  async enterSoon(signal: AbortSignal, patienceMs: number): Promise<boolean> {
    const began = performance.now();
    const late = AbortSignal.timeout(patienceMs);
    try {
      await this.enter(AbortSignal.any([signal, late]));
      return performance.now() - began < TURN_MS;
    } catch (error) {
      if (signal.aborted || !late.aborted) throw error;
      const now = performance.now();
      this.#freeAt = Math.max(now, this.#freeAt) + this.#meanMs / this.#limit;
      throw waiting(this.#freeAt - now, 'the answers to other requests');
    }
  }

  /** `heldMs`: how long the permit was held. */
  leave(heldMs = this.#meanMs): void {
    this.#meanMs += (heldMs - this.#meanMs) * NEW_SHARE;
    this.#inside--;
    this.#raise();
    this.#admit();
  }

  place(): AnswerPlace {
    return new AnswerPlace(this.#room);
  }

  #raise(): void {
    if (this.#limit < this.#most && this.#room.waiting === 0) this.#limit++;
  }

  #riseLater(): void {
    this.#rise ??= setTimeout(() => {
      this.#rise = null;
      this.#raise();
      if (this.#admit() && this.#limit < this.#most) this.#riseLater();
    }, RISE_MS).unref();
  }

  #lower(): void {
    this.#limit = Math.min(this.#limit, Math.max(LEAST, this.sent - this.#room.waiting));
  }

  /** Gives free permits to waiting callers. Returns whether more callers may be waiting. */
  #admit(): boolean {
    while (this.#inside < this.#limit) {
      const next = this.#next();
      if (!next) return false;
      this.#inside++;
      next.resolve();
    }
    return true;
  }

  #next() {
    for (const [group, queue] of this.#waiting) {
      this.#waiting.delete(group);
      const { next } = queue;
      // Aborted callers have left their queue.
      if (!next) continue;
      if (queue.size > 1) this.#waiting.set(group, queue);
      return next;
    }
    return null;
  }
}

/** Bytes of answers that a worker process holds at once. Further answers wait in their connections. */
const MOST_BYTES = 3 * 1_048_576;

/**
 * Bounds the bytes of the answers that a worker process has received and not written to the disk yet. A process that is slower than the
 * service would otherwise hold the answers to all its requests at once.
 */
export class AnswerRoom {
  /** The bodies of large answers use the same memory, so that V8 need not collect each of them. */
  readonly memory = new BodyMemory();
  readonly #crowded: () => void;
  /** Functions that continue to read the waiting answers, in the order in which the answers came. */
  readonly #waiting = new Set<() => void>();
  #bytes = 0;

  /** `crowded`: called whenever an answer has to wait. */
  constructor(crowded: () => void = () => undefined) {
    this.#crowded = crowded;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Lets an answer in. Returns false if the answer has to wait until `resume` is called. */
  enter(resume: () => void): boolean {
    if (this.#bytes < MOST_BYTES) return true;
    this.#waiting.add(resume);
    this.#crowded();
    return false;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Takes bytes back, and a wait that has not ended; lets further answers in. */
  leave(bytes: number, resume: () => void): void {
    this.#bytes -= bytes;
    this.#waiting.delete(resume);
    for (const next of this.#waiting) {
      if (this.#bytes >= MOST_BYTES) return;
      this.#waiting.delete(next);
      next();
    }
  }
}

const NOTHING = () => undefined;

/** The place of one answer in the room, from the start of its body until it has landed or failed. */
export class AnswerPlace implements BodySpace {
  readonly #room: AnswerRoom;
  #bytes = 0;
  #memory: Buffer | null = null;
  #resume: () => void = NOTHING;

  constructor(room: AnswerRoom) {
    this.#room = room;
  }

  enter(resume: () => void): boolean {
    this.#resume = resume;
    return this.#room.enter(resume);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    this.#room.add(bytes);
  }

  take(bytes: number): Buffer {
    this.#memory = this.#room.memory.take(bytes);
    return this.#memory;
  }

  /** Gives everything back. The body must not be used afterwards. */
  leave(): void {
    if (this.#memory) this.#room.memory.giveBack(this.#memory);
    this.#room.leave(this.#bytes, this.#resume);
    this.#memory = null;
    this.#bytes = 0;
  }
}
