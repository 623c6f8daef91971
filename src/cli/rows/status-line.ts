import { shellWord } from '../../core/text/shell-word.js';
import type { JobStatus } from '../../worker/config/runtime-types.js';
import { duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { commandOnOwnLine, namesWay, withoutResume } from '../text/way-to-resume.js';

const words: Readonly<Record<JobStatus['phase'], string>> = {
  planning: 'is planning',
  running: 'is running',
  waiting: 'is waiting for a worker',
  paused: 'is paused',
  stopped: 'is stopped',
  done: 'is done',
  failed: 'failed',
  cancelled: 'is cancelled',
};

/** Returns the state of a job with its time, its reason, and the command that resumes the job. */
export function statusLine(found: JobStatus, now: number): string {
  const { name, phase, message } = found;
  const reason = withoutResume(message);
  const why = reason === null ? '' : `: ${printable(reason)}`;
  const resumeText = reason !== null && namesWay(reason) ? '' : resumeTextOf(found);
  const line = `${printable(name)} ${words[phase]}${sinceText(found, now)}${why}.${resumeText}`;
  return resumeText === '' ? commandOnOwnLine(line.replace(/\.\.$/, '.')) : line.replace(/\.\.( |$)/, '.$1');
}

function sinceText({ since }: JobStatus, now: number): string {
  if (since === null) return '';
  return ` since ${new Date(since).toISOString().slice(0, 16).replace('T', ' ')} UTC (${duration(Math.max(0, now - since) / 1000)})`;
}

function resumeTextOf({ job, phase, schedule, message }: JobStatus): string {
  if (phase === 'waiting') return ` To ${message === null ? 'run it' : 'start one'}:\n  searchflow worker`;
  // A resumed job would not be a run of its schedule: another trigger would be skipped while the job is paused.
  if (schedule !== undefined && ['stopped', 'failed', 'cancelled'].includes(phase))
    return ` To run it now:\n  searchflow schedule trigger ${shellWord(printable(schedule))}`;
  if (['paused', 'stopped', 'failed', 'cancelled'].includes(phase))
    return ` To resume it:\n  searchflow resume ${shellWord(printable(job))}`;
  return '';
}

/** Returns the state of a job for a list. */
export const phaseWord = (phase: JobStatus['phase']): string => (phase === 'waiting' ? 'waiting for a worker' : phase);
