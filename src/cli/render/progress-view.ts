import type { Terminal } from '../terminal.js';
import type { Reading } from './meter.js';
import { progressBar, progressText } from './progress-line.js';

/** Lines of a log come this often, or at every tenth of the rows. */
const LINE_EVERY_MS = 5000;

/** Shows readings: a line that redraws itself on a terminal, now and then a plain line elsewhere. */
export class ProgressView {
  readonly #terminal: Terminal;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastTenth = 0;
  #lastText = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `at` in milliseconds of any steady clock. */
  update(reading: Reading, at: number): void {
    const { live, columns, colors } = this.#terminal;
    if (live) {
      this.#terminal.show(progressBar(reading, columns(), colors));
      return;
    }
    const tenth = reading.total === 0 ? 0 : Math.floor((reading.done / reading.total) * 10);
    if (at - this.#lastAt < LINE_EVERY_MS && tenth === this.#lastTenth) return;
    const text = progressText(reading);
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
