/** Sizes are rounded up to a multiple of this number of bytes, so that the memory of one body fits other bodies of similar length. */
const STEP = 65_536;
/** The maximum number of free bytes that are kept for reuse. */
const KEPT_BYTES = 16_777_216;

/**
 * Reusable memory for bodies. If each of thousands of large bodies took new memory, V8 would scan its whole heap after every 25 MB of
 * bodies.
 */
export class BodyMemory {
  #free: Buffer[] = [];
  #kept = 0;
  /** Memory in use. The key is the ArrayBuffer of the memory. Memory that is not given back is garbage-collected. */
  readonly #taken = new WeakMap<ArrayBufferLike, Buffer>();

  /** Returns uninitialized memory of at least `bytes`. */
  take(bytes: number): Buffer {
    const index = this.#free.findIndex(({ length }) => length >= bytes && length <= 2 * bytes + STEP);
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    const taken = found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP) * STEP);
    if (found) this.#kept -= found.length;
    this.#taken.set(taken.buffer, taken);
    return taken;
  }

  /** Takes back the memory under any view of it. The caller must not use the view afterwards. Memory from elsewhere is ignored. */
  giveBack(view: Uint8Array): void {
    const memory = this.#taken.get(view.buffer);
    if (!memory || !this.#taken.delete(view.buffer) || this.#kept + memory.length > KEPT_BYTES) return;
    this.#free.push(memory);
    this.#kept += memory.length;
  }

  /** Releases free memory. */
  clear(): void {
    this.#free = [];
    this.#kept = 0;
  }
}
