import { stripVTControlCharacters } from 'node:util';
import type { PauseReason } from '../../core/job.js';
import type { Terminal } from '../terminal.js';
import { count, dollars, duration } from './amounts.js';
import type { Reading } from './meter.js';
import { printable } from './printable.js';

/** What a job that waits for a person says, by what it waits for. */
const paused: Readonly<Record<PauseReason, string>> = {
  person: 'paused; `searchflow resume` goes on',
  credits: 'paused: the service wants to be paid',
  budget: 'paused: its budget is used up',
  key: 'paused: the service refuses the key',
  rate: 'paused: the service wants a long rest',
};

const BAR = 24;

/** One line that fits the terminal: a bar, rows, speed, time left, dollars, failures, what it waits for. */
export function progressBar(reading: Reading, columns: number, colors: Terminal['colors']): string {
  const part = reading.total === 0 ? 0 : reading.done / reading.total;
  const full = Math.floor(part * BAR);
  const bar = `${colors.cyan('█'.repeat(full))}${colors.dim('░'.repeat(BAR - full))}`;
  const waits = waitText(reading);
  const facts = [`${Math.floor(part * 100)}%`, ...factsOf(reading)].join('  ');
  const failed = reading.failed > 0 ? `  ${colors.red(`${count(reading.failed)} failed`)}` : '';
  const line = `${bar} ${facts}${failed}`;
  const room = columns - 1 - stripVTControlCharacters(line).length;
  // A line longer than the terminal wraps, and what wraps can't be redrawn: without room for the bar there are words only.
  if (room < 0)
    return `${facts}${reading.failed > 0 ? `  ${count(reading.failed)} failed` : ''}`.slice(
      0,
      Math.max(0, columns - 1),
    );
  return waits === null || room < 12 ? line : `${line}  ${colors.yellow(printable(waits, room - 2))}`;
}

/** The same for a log: words only. */
export function progressText(reading: Reading): string {
  const percent = reading.total === 0 ? '' : ` (${Math.floor((reading.done / reading.total) * 100)}%)`;
  const [rows = '', ...rest] = factsOf(reading);
  const failed = reading.failed > 0 ? [`${count(reading.failed)} failed`] : [];
  const unknown = reading.unknownOutcomes > 0 ? [`${count(reading.unknownOutcomes)} unknown outcomes`] : [];
  const waits = waitText(reading);
  return [`${rows}${percent}`, ...rest, ...failed, ...unknown, ...(waits === null ? [] : [printable(waits)])].join(
    ', ',
  );
}

function factsOf(reading: Reading): string[] {
  const speed = reading.rowsPerSecond;
  return [
    `${count(reading.done)}/${count(reading.total)} rows`,
    ...(speed === null ? [] : [`${count(speed < 10 ? Math.round(speed * 10) / 10 : Math.round(speed))} rows/s`]),
    ...(reading.etaSeconds === null || reading.phase === 'paused'
      ? []
      : [`${duration(Math.ceil(reading.etaSeconds))} left`]),
    reading.maxCostMicros === null
      ? dollars(reading.costMicros)
      : `${dollars(reading.costMicros)} of ${dollars(reading.maxCostMicros)}`,
  ];
}

function waitText(reading: Reading): string | null {
  if (reading.phase === 'paused') return paused[reading.pausedFor ?? 'person'];
  return reading.waitingFor ?? (reading.phase === 'planning' ? 'preparing the warehouse' : null);
}
