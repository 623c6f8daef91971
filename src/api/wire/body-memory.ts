/** Sizes are rounded up to this, so that bodies of about the same length fit. */
const STEP = 65_536;
/** Free memory that is kept, at most. */
const KEPT_BYTES = 33_554_432;

/**
 * Memory for bodies that is used again by whoever says when it is done with one. Memory made anew for each of thousands of large
 * bodies has V8 look through its whole heap for every 25 MB of it.
 */
export class BodyMemory {
  #free: Buffer[] = [];
  #kept = 0;
  /** What is in use, by what its views share; what is never given back is the garbage collector's. */
  readonly #taken = new WeakMap<ArrayBufferLike, Buffer>();

  /** Memory for so many bytes, or more, with anything in it. */
  take(bytes: number): Buffer {
    const index = this.#free.findIndex(({ length }) => length >= bytes && length <= 2 * bytes + STEP);
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    const taken = found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP) * STEP);
    if (found) this.#kept -= found.length;
    this.#taken.set(taken.buffer, taken);
    return taken;
  }

  /** Takes memory back, given any view of it: nobody may look at it any more. Nothing happens where it is not from here. */
  giveBack(view: Uint8Array): void {
    const memory = this.#taken.get(view.buffer);
    if (!memory || !this.#taken.delete(view.buffer) || this.#kept + memory.length > KEPT_BYTES) return;
    this.#free.push(memory);
    this.#kept += memory.length;
  }

  /** Lets go of what is free. */
  clear(): void {
    this.#free = [];
    this.#kept = 0;
  }
}
