import { stripVTControlCharacters } from 'node:util';
import type { Terminal } from '../shared/terminal.js';
import { printable } from '../text/printable.js';

const BAR = 24;

/** Parts of a progress line. */
export interface ProgressLine {
  /** Share that is done, 0 to 1; null if unknown. */
  readonly part: number | null;
  /** Amounts, speed and time left. `part` is the share of the first amount that is done. */
  readonly facts: readonly string[];
  /** A problem, such as failed rows. */
  readonly alarm: string | null;
  /** Details that a log shows and that are too long for the line of a bar. */
  readonly notes: readonly string[];
  readonly waits: string | null;
}

/** Returns one line that fits the terminal. The line has a bar, amounts, speed, time left, problems, and the reason of a wait. */
export function progressBar(shown: ProgressLine, columns: number, colors: Terminal['colors']): string {
  const { part, alarm, waits } = shown;
  const full = Math.floor((part ?? 0) * BAR);
  const bar = `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(BAR - full))}`;
  const facts = [...(part === null ? [] : [`${Math.floor(part * 100)}%`]), ...shown.facts].join('  ');
  const wrong = alarm === null ? '' : `  ${colors.red(alarm)}`;
  const line = `${bar} ${facts}${wrong}`;
  const room = columns - 1 - stripVTControlCharacters(line).length;
  // A line that wraps cannot be redrawn. So a narrow terminal gets no bar.
  if (room < 0) return `${facts}${alarm === null ? '' : `  ${alarm}`}`.slice(0, Math.max(0, columns - 1));
  return waits === null || room < 12 ? line : `${line}  ${colors.yellow(printable(waits, room - 2))}`;
}

/** Returns a line for a log, without a bar. */
export function progressText({ part, facts, alarm, notes, waits }: ProgressLine): string {
  const percent = part === null ? '' : ` (${Math.floor(part * 100)}%)`;
  const [first = '', ...rest] = facts;
  const others = [...(alarm === null ? [] : [alarm]), ...notes, ...(waits === null ? [] : [printable(waits)])];
  return [`${first}${percent}`, ...rest, ...others].join(', ');
}
