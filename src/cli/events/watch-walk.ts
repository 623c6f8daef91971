import type { WalkSummary } from '../../core/events/walk-job.js';
import { exitCodeOfPause } from '../../core/rows/exit-codes.js';
import { JobFailed, wasCancelled } from '../../worker/config/runtime-types.js';
import type { WalkHandle } from '../../worker/control/event-control.js';
import { follow } from '../progress/follow.js';
import { commandsAsTyped } from '../progress/paused.js';
import { blockedText } from '../progress/progress.js';
import { ProgressView } from '../progress/progress-view.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { resumeCommand } from '../shared/resume-command.js';
import type { Session } from '../shared/session.js';
import { printable } from '../text/printable.js';
import { differs, walkData, walkText } from './events.js';
import { WalkProgressReader } from './walk-progress.js';

export interface WalkManner {
  readonly json: boolean;
  /** A verification that had to mend something has failed, too. */
  readonly strict?: boolean;
}

/** Watches a walk and tells how it ended. */
export async function watchWalk(
  context: Context,
  { runtime, stopped }: Pick<Session, 'runtime' | 'stopped'>,
  handle: Pick<WalkHandle, 'job' | 'workflowId' | 'progress' | 'running' | 'result'>,
  manner: WalkManner,
): Promise<ExitCode> {
  const { terminal } = context;
  const view = new ProgressView(terminal);
  const reader = new WalkProgressReader();
  const poll = async () => {
    // In this order: a window that ends in between is missing for a moment, but never counted twice.
    const progress = await handle.progress();
    const [running, limits] = await Promise.all([handle.running(), runtime.clientOnly ? null : runtime.limits()]);
    const at = Date.now();
    const show = () => view.update(reader.line(at, progress, running, blockedText(limits, at)), at);
    return { progress, show };
  };
  const watched = { poll, result: () => handle.result().catch(goesOn) };
  const followed = await follow(watched, { stopped, everyMs: terminal.live ? 250 : 1000 });
  view.end();
  if (followed.kind === 'parked') {
    // It waits for a person, not for this command.
    await runtime.release(handle.workflowId);
    const { pausedFor, message, ...progress } = followed.progress;
    if (manner.json)
      terminal.data(JSON.stringify({ kind: 'paused', job: handle.job, pausedFor, message, ...progress }));
    const why = commandsAsTyped(printable(message ?? 'no reason was given'), context.env);
    terminal.say(`Paused (${pausedFor}): ${why}`);
    terminal.say(`What was read is loaded. When that is mended, go on: ${resumeCommand(context.args, context.env)}`);
    return exitCodeOfPause(pausedFor);
  }
  const { summary } = followed;
  if (manner.json) terminal.data(JSON.stringify(walkData(handle.job, summary)));
  else terminal.say(walkText(summary, Date.now()));
  return codeOf(summary, manner);
}

/** Whoever watches a walk that somebody else ends is told that nothing is lost. */
function goesOn(error: unknown): never {
  if (!(error instanceof JobFailed) || !wasCancelled(error)) throw error;
  const text = `${error.message}; what it loaded stays, and its events command makes it go on`;
  throw new JobFailed(text, { cause: error.cause });
}

/** A verification fails where the warehouse is not what the service shows: what is gone there is kept here. */
function codeOf({ phase, verified }: WalkSummary, { strict = false }: WalkManner): ExitCode {
  if (phase !== 'done') return exitCodes.stopped;
  if (!verified) return exitCodes.ok;
  return verified.gone > 0 || (strict && differs(verified)) ? exitCodes.failed : exitCodes.ok;
}
