import { withAgentCalls } from '../../worker/control/agent-control.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { onSandbox } from '../shared/embedded-sandbox.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { printable } from '../text/printable.js';

/** `searchflow agent cancel ID`: cancels a run at the service. A job that follows the run sees the end and the cost of the run. */
export async function agentCancel(
  context: Context,
  id: string,
  { json }: { readonly json?: boolean },
): Promise<ExitCode> {
  const { terminal } = context;
  const config = settings(context, {});
  return withRuntime(context, config, { sends: true }, async ({ sandbox }) => {
    const { data: run } = await withAgentCalls(sandbox ? onSandbox(config, sandbox) : config, (calls) =>
      calls.cancelAgentRun({ id }),
    );
    if (json) terminal.data(JSON.stringify(run));
    else
      terminal.say(
        `${printable(run.id)}: ${printable(run.status ?? 'unknown')}; cost $${run.costDollars?.total ?? 0}.`,
      );
    return exitCodes.ok;
  });
}
