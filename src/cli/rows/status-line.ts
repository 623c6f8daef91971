import type { JobStatus } from '../../worker/config/runtime-types.js';
import { duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';

const words: Readonly<Record<JobStatus['phase'], string>> = {
  planning: 'is being planned',
  running: 'is running',
  waiting: 'waits for a worker',
  paused: 'is paused',
  stopped: 'is stopped',
  done: 'is done',
  failed: 'failed',
  cancelled: 'is cancelled',
};

/** What a job does, since when and why, and the one command that makes it go on. */
export function statusLine(found: JobStatus, now: number): string {
  const { name, phase, message } = found;
  const why = message === null ? '' : `: ${printable(message)}`;
  const goOn = message?.includes('searchflow ') ? '' : goOnText(found);
  return `${printable(name)} ${words[phase]}${sinceText(found, now)}${why}.${goOn}`.replace(/\.\.( |$)/, '.$1');
}

function sinceText({ since }: JobStatus, now: number): string {
  if (since === null) return '';
  return ` since ${new Date(since).toISOString().slice(0, 16).replace('T', ' ')} UTC (${duration(Math.max(0, now - since) / 1000)})`;
}

function goOnText({ job, phase }: JobStatus): string {
  if (phase === 'waiting') return ' To run it: searchflow worker';
  if (['paused', 'stopped', 'failed', 'cancelled'].includes(phase))
    return ` To resume it: searchflow resume ${printable(job)}`;
  return '';
}

/** A phase in a list, for a person. */
export const phaseWord = (phase: JobStatus['phase']): string => (phase === 'waiting' ? 'waits for a worker' : phase);
