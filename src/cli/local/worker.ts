import type { ConfigFlags } from '../../worker/config/config.js';
import { serviceText } from '../progress/plan.js';
import { moment, runText } from '../schedules/schedules.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { printable } from '../text/printable.js';

/**
 * `searchflow worker` and `searchflow dev`: run a worker until Ctrl-C. If needed, the commands also run a Temporal server and
 * a sandbox.
 */
export async function worker(context: Context, flags: ConfigFlags): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: true }, async (session) => {
    session.working();
    const { say } = context.terminal;
    await session.runtime.runWorker(
      () => say(`Worker running on ${serviceText(config)}, task queue ${config.taskQueue}. Press Ctrl-C to stop.`),
      (run) =>
        say(
          `${moment(Date.now())}  ${printable(run.job)} (${run.workflowType}): ${run.phase === 'running' ? 'started' : runText(run)}`,
        ),
    );
    return exitCodes.ok;
  });
}
