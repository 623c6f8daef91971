import type { BodySpace } from '../../api/wire/transport-options.js';
import { BodyMemory } from '../../core/purchase/body-memory.js';

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

  /** Number of answers that wait in their connections. */
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
