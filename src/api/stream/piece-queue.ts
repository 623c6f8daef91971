import type { BodySink } from '../wire/exchange.js';

/** Pieces of a body between the connection and the reader; pauses the connection while many wait. */
export class PieceQueue implements BodySink {
  /** Bytes that may wait before the connection pauses. */
  static readonly HIGH = 1_048_576;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #resume: (() => void) | null = null;
  #closed = false;
  #wake: (() => void) | null = null;

  push(piece: Buffer, flow: { pause(): void; resume(): void }): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > PieceQueue.HIGH && this.#resume === null) {
      flow.pause();
      this.#resume = () => flow.resume();
    }
    this.#wake?.();
  }

  /** Ends the queue: no more pieces come. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Returns all waiting pieces as one; null at the end. For one reader at a time. */
  async take(): Promise<Buffer | null> {
    while (this.#pieces.length === 0) {
      if (this.#closed) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    const resume = this.#resume;
    this.#resume = null;
    resume?.();
    return all;
  }
}
