import type { Output } from '../../api/outputs/index.js';
import { codeOfPause } from '../../core/rows/pause.js';
import type { WalkProgress, WalkSummary } from '../../core/workflow-result-schemas.js';
import { JobFailed, wasCancelled } from '../../worker/config/runtime-types.js';
import { EventControl } from '../../worker/control/event-control.js';
import { findWalk } from '../../worker/control/find-walk.js';
import type { WalkHandle } from '../../worker/control/job-handle.js';
import type { Runtime } from '../../worker/runtime/views.js';
import { followJob } from '../progress/progress.js';
import { showPause } from '../progress/summary.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';
import type { Session } from '../shared/session.js';
import { differs, WalkProgressReader, walkData, walkText } from './events.js';

export interface WalkManner {
  readonly json: boolean;
  /** Whether a verification with differences fails although it repaired all of them. */
  readonly strict?: boolean;
  /** Whether any pause ends the watch, also that by a person. */
  readonly untilPaused?: boolean;
}

/** Watches a walk and shows its summary. Returns the exit code. */
export async function watchWalk(
  context: Context,
  session: Pick<Session, 'runtime' | 'stopped'>,
  handle: Pick<WalkHandle, 'job' | 'workflowId' | 'progress' | 'result'>,
  manner: WalkManner,
): Promise<ExitCode> {
  const { terminal } = context;
  const followed = await followJob(context, session, handle, new WalkProgressReader(), manner).catch(withResumeHint);
  if (followed.kind === 'parked') return showPausedWalk(context, handle.job, followed.progress, manner.json);
  const { summary } = followed;
  if (manner.json) terminal.data(JSON.stringify(walkData(handle.job, summary)));
  else terminal.say(walkText(summary, Date.now()));
  return codeOf(summary, manner);
}

/** Shows a walk that waits for a person. Returns the exit code. */
export function showPausedWalk(context: Context, job: string, progress: WalkProgress, json: boolean): ExitCode {
  const code = codeOfPause(progress.pausedFor, progress.message);
  const output: Output<'pausedWalk'> = { kind: 'paused', job, ...progress, code };
  return showPause(context, progress, json ? output : null, 'Loaded events');
}

/** Adds two facts to the message of a cancellation by another command: nothing is lost, and how to resume. */
function withResumeHint(error: unknown): never {
  if (!(error instanceof JobFailed) || !wasCancelled(error)) throw error;
  const text = `${error.message}. Loaded events are kept; run its events command to resume.`;
  throw new JobFailed(text, { cause: error.cause });
}

/** Returns the exit code of a walk. A verification fails if the service no longer returns events that the warehouse has. */
function codeOf({ phase, verified }: WalkSummary, { strict = false }: WalkManner): ExitCode {
  if (phase !== 'done') return exitCodes.stopped;
  if (!verified) return exitCodes.ok;
  return verified.gone > 0 || (strict && differs(verified)) ? exitCodes.failed : exitCodes.ok;
}

/** Returns the walk that a command names; null for other jobs. */
export async function walkNamed(
  runtime: Pick<Runtime, 'jobs' | 'workflows'>,
  name: string,
): Promise<WalkHandle | null> {
  const found = findWalk(await runtime.jobs.walks(), name);
  return found && new EventControl(await runtime.workflows(), '.').attach(found);
}
