/** Writes an answer from several ASCII texts. Joining the texts first would copy them once more. */
export class AsciiWriter {
  #bytes: Buffer;
  #at = 0;

  /** `size`: initial bytes; the buffer grows. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  write(text: string): void {
    if (this.#at + text.length > this.#bytes.length) this.#grow(text.length);
    this.#at += this.#bytes.write(text, this.#at, 'latin1');
  }

  /** All written bytes. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2 + least);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
