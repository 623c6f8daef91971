import type { Terminal } from '../shared/terminal.js';
import { type ProgressLine, progressBar, progressText } from './progress-line.js';

/** Shortest time between two lines of a log, in ms. Each tenth of the work gets a line even earlier. */
const LINE_EVERY_MS = 5000;
/** Shortest time from the last line to a line about a new wait, in ms. */
const WAIT_EVERY_MS = 1000;

/** Shortest time between two lines about work without a known amount, in ms. */
const TEXT_EVERY_MS = 10_000;

/** Shows a text that changes: as a live line on a terminal, otherwise as plain lines. */
export class TextView {
  readonly #terminal: Terminal;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastText = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `at`: milliseconds of a monotonic clock. */
  update(text: string, at: number): void {
    if (this.#terminal.live) this.#terminal.show(text);
    else if (at - this.#lastAt >= TEXT_EVERY_MS && text !== this.#lastText) {
      this.#lastAt = at;
      this.#lastText = text;
      this.#terminal.say(text);
    }
  }
}

/** Shows progress: as a live line on a terminal, otherwise as plain lines. */
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
  update(line: ProgressLine, at: number): void {
    const { live, columns, colors } = this.#terminal;
    if (live) {
      this.#terminal.show(progressBar(line, columns(), colors));
      return;
    }
    const tenth = Math.floor((line.part ?? 0) * 10);
    const waits = line.waits !== null;
    const every = waits && !this.#waited ? WAIT_EVERY_MS : LINE_EVERY_MS;
    if (at - this.#lastAt < every && tenth === this.#lastTenth) return;
    this.#waited = waits;
    const text = progressText(line);
    this.#lastAt = at;
    this.#lastTenth = tenth;
    if (text === this.#lastText) return;
    this.#lastText = text;
    this.#terminal.say(text);
  }

  end(): void {
    this.#terminal.show('');
  }
}
