import { stripVTControlCharacters } from 'node:util';
import type { PauseReason } from '../../core/rows/job.js';
import type { Terminal } from '../shared/terminal.js';
import { count, dollars, duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import type { Reading } from './progress.js';

/** Texts of a paused job, by reason. */
const paused: Readonly<Record<PauseReason, string>> = {
  person: 'paused; continue with `searchflow resume`',
  credits: 'paused: no credits left',
  budget: 'paused: its budget is used up',
  key: 'paused: the service refuses the API key',
  rate: 'paused: the service asks to wait more than an hour',
  service: 'paused: answers do not come from the service',
  request: 'paused: the service refuses the requests',
};

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

/** Returns the progress line of a job of rows. */
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

/** Returns a speed such as `311 rows/s`; an empty list if the speed is unknown. */
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

/** Returns the reason of a wait, or null. `preparing`: the text of the planning phase. */
export function waitText(
  { phase, pausedFor, waitingFor }: Pick<Reading, 'phase' | 'pausedFor' | 'waitingFor'>,
  preparing = 'preparing the warehouse',
): string | null {
  if (phase === 'paused') return paused[pausedFor ?? 'person'];
  return waitingFor ?? (phase === 'planning' ? preparing : null);
}
