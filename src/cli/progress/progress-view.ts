import type { Terminal } from '../shared/terminal.js';
import { type ProgressLine, progressBar, progressText } from './progress-line.js';

/** Lines of a log come this often, or at every tenth of it all. */
const LINE_EVERY_MS = 5000;
/** … and when a wait begins this soon after the last one. */
const WAIT_EVERY_MS = 1000;

/** Shows how far something is: a line that redraws itself on a terminal, elsewhere a plain line now and then and when a wait begins. */
export class ProgressView {
  readonly #terminal: Terminal;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastTenth = 0;
  #lastText = '';
  #waited = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `at` in milliseconds of any steady clock. */
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
