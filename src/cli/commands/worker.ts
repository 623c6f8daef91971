import type { ConfigFlags } from '../../worker/config.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { serviceText } from '../render/plan.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** `searchflow worker` and `searchflow dev`: a worker, with server and sandbox as needed, until Ctrl-C. */
export async function worker(context: Context, flags: ConfigFlags): Promise<ExitCode> {
  const config = settings(context, flags);
  return withRuntime(context, config, { sends: true }, async (session) => {
    session.working();
    await session.runtime.runWorker(() =>
      context.terminal.say(`A worker on ${serviceText(config)}, task queue ${config.taskQueue}. Ctrl-C ends it.`),
    );
    return exitCodes.ok;
  });
}
