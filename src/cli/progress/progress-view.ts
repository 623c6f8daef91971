import type { Terminal } from '../shared/terminal.js';
import { type ProgressLine, progressBar, progressText } from './progress-line.js';

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
