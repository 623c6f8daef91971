import type { ConfigFlags } from '../../worker/config/config.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { serviceText } from '../render/plan.js';
import { printable } from '../render/printable.js';
import { moment, runText } from '../render/schedules.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** `searchflow worker` and `searchflow dev`: a worker, with server and sandbox as needed, until Ctrl-C. */
export async function worker(context: Context, flags: ConfigFlags): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: true }, async (session) => {
    session.working();
    const { say } = context.terminal;
    await session.runtime.runWorker(
      () => say(`A worker on ${serviceText(config)}, task queue ${config.taskQueue}. Ctrl-C ends it.`),
      (run) =>
        say(
          `${moment(Date.now())}  ${printable(run.job)} (${run.workflowType}): ${run.phase === 'running' ? 'started' : runText(run)}`,
        ),
    );
    return exitCodes.ok;
  });
}
