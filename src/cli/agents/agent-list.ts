import type { ConfigFlags } from '../../worker/config/config.js';
import { withAgentCalls } from '../../worker/control/agent-control.js';
import { toCount } from '../monitors/monitor-flags.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { onSandbox } from '../shared/embedded-sandbox.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { runsText } from './agent.js';

/** `searchflow agent list`: lists the latest agent runs of the team, whichever client started them. */
export async function agentList(
  context: Context,
  flags: ConfigFlags & { readonly limit?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const mistakes: string[] = [];
  const limit = toCount(flags.limit, '--limit', 100, mistakes) ?? 20;
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: true }, async ({ sandbox }) => {
    const { data } = await withAgentCalls(sandbox ? onSandbox(config, sandbox) : config, (calls) =>
      calls.listAgentRuns({ limit }),
    );
    const runs = data.data ?? [];
    context.terminal.data(flags.json ? JSON.stringify(runs) : runsText(runs));
    return exitCodes.ok;
  });
}
