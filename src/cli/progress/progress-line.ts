import { stripVTControlCharacters } from 'node:util';
import type { PauseReason } from '../../core/rows/job.js';
import type { Terminal } from '../shared/terminal.js';
import { count, dollars, duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import type { Reading } from './progress.js';

/** What a job that waits for a person says, by what it waits for. */
const paused: Readonly<Record<PauseReason, string>> = {
  person: 'paused; `searchflow resume` goes on',
  credits: 'paused: the service wants to be paid',
  budget: 'paused: its budget is used up',
  key: 'paused: the service refuses the key',
  rate: 'paused: the service wants a long rest',
  service: "paused: answers are not the service's",
};

const BAR = 24;

/** What a progress line shows of whatever goes on. */
export interface ProgressLine {
  /** Part that is done, 0 to 1; null where nobody knows how much it is. */
  readonly part: number | null;
  /** Amounts, speed, time left; the first one is what `part` is of. */
  readonly facts: readonly string[];
  /** What should not be. */
  readonly alarm: string | null;
  /** What fits in a log, but not beside a bar. */
  readonly notes: readonly string[];
  readonly waits: string | null;
}

/** One line that fits the terminal: a bar, amounts, speed, time left, what should not be, what it waits for. */
export function progressBar(shown: ProgressLine, columns: number, colors: Terminal['colors']): string {
  const { part, alarm, waits } = shown;
  const full = Math.floor((part ?? 0) * BAR);
  const bar = `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(BAR - full))}`;
  const facts = [...(part === null ? [] : [`${Math.floor(part * 100)}%`]), ...shown.facts].join('  ');
  const wrong = alarm === null ? '' : `  ${colors.red(alarm)}`;
  const line = `${bar} ${facts}${wrong}`;
  const room = columns - 1 - stripVTControlCharacters(line).length;
  // A line longer than the terminal wraps, and what wraps can't be redrawn: without room for the bar there are words only.
  if (room < 0) return `${facts}${alarm === null ? '' : `  ${alarm}`}`.slice(0, Math.max(0, columns - 1));
  return waits === null || room < 12 ? line : `${line}  ${colors.yellow(printable(waits, room - 2))}`;
}

/** The same for a log: words only. */
export function progressText({ part, facts, alarm, notes, waits }: ProgressLine): string {
  const percent = part === null ? '' : ` (${Math.floor(part * 100)}%)`;
  const [first = '', ...rest] = facts;
  const others = [...(alarm === null ? [] : [alarm]), ...notes, ...(waits === null ? [] : [printable(waits)])];
  return [`${first}${percent}`, ...rest, ...others].join(', ');
}

/** What a job of rows shows. */
export function rowLine(reading: Reading): ProgressLine {
  const { done, total, failed, unknownOutcomes } = reading;
  return {
    part: total === 0 ? null : done / total,
    facts: factsOf(reading),
    alarm: failed > 0 ? `${count(failed)} failed` : null,
    notes: unknownOutcomes > 0 ? [`${count(unknownOutcomes)} unknown outcomes`] : [],
    waits: waitText(reading),
  };
}

/** Speed of something, such as `311 rows/s`; nothing where it is not known. */
export function speedText(speed: number | null, what: string): string[] {
  return speed === null ? [] : [`${count(speed < 10 ? Math.round(speed * 10) / 10 : Math.round(speed))} ${what}/s`];
}

function factsOf(reading: Reading): string[] {
  return [
    `${count(reading.done)}/${count(reading.total)} rows`,
    ...speedText(reading.rowsPerSecond, 'rows'),
    ...(reading.etaSeconds === null || reading.phase === 'paused'
      ? []
      : [`${duration(Math.ceil(reading.etaSeconds))} left`]),
    reading.maxCostMicros === null
      ? dollars(reading.costMicros)
      : `${dollars(reading.costMicros)} of ${dollars(reading.maxCostMicros)}`,
  ];
}

/** What something that goes on waits for; `preparing` is what it does at first. */
export function waitText(
  { phase, pausedFor, waitingFor }: Pick<Reading, 'phase' | 'pausedFor' | 'waitingFor'>,
  preparing = 'preparing the warehouse',
): string | null {
  if (phase === 'paused') return paused[pausedFor ?? 'person'];
  return waitingFor ?? (phase === 'planning' ? preparing : null);
}
