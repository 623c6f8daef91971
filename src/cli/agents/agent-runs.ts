import type { Output } from '../../api/outputs/index.js';
import type { AgentRunSync } from '../../core/workflow-result-schemas.js';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { startSync, syncTarget, syncWork, withAgentCalls } from '../../worker/control/agent-control.js';
import { readAll, toCount } from '../flag-values.js';
import { keepSchedule, toScheduleWish } from '../schedules/keep-schedule.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { onSandbox } from '../shared/embedded-sandbox.js';
import { type Session, settings, withRuntime } from '../shared/session.js';
import { withAccess } from '../shared/with-access.js';
import { printable, some } from '../text.js';
import { runsText } from './agent.js';

/** `searchflow agent list`: lists the latest agent runs of the team, whichever client started them. */
export async function agentList(context: Context, flags: Flags<'agentList'>): Promise<ExitCode> {
  const { limit = 20, mistakes } = readAll({ limit: () => toCount(flags.limit, '--limit', 100) });
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

/** `searchflow agent cancel ID`: cancels a run at the service. A job that follows the run sees the end and the cost of the run. */
export async function agentCancel(context: Context, id: string, { json }: Flags<'agentCancel'>): Promise<ExitCode> {
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

/** `searchflow agent sync`: loads all agent runs of the team into a warehouse. With a schedule, new runs are loaded regularly. */
export async function agentSync(context: Context, flags: Flags<'agentSync'>): Promise<ExitCode> {
  const { terminal } = context;
  const { wish, mistakes } = readAll({ wish: () => toScheduleWish(flags) });
  const loads = wish?.timing !== 'never';
  const sync = async (access: WorkflowAccess, { runtime }: Session, config: RuntimeConfig) => {
    const { name, work } = syncWork(config, syncTarget(access, flags.into, context.cwd));
    if (wish !== null) await keepSchedule(context, await runtime.workflows(), wish, { name, work });
    if (!loads) return exitCodes.ok;
    await runtime.work.own({ job: name, workflowId: work.workflowId });
    const done = await (await startSync(access, work)).result();
    const output: Output<'agentSync'> = { kind: 'agent-sync', ...done, watermark: time(done.watermark) };
    if (flags.json) terminal.data(JSON.stringify(output));
    else terminal.say(syncText(done));
    return exitCodes.ok;
  };
  return withAccess(context, flags, mistakes, sync, { loads, owns: true });
}

const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

function syncText({ runs, added, changed, gone, unfinished, into }: AgentRunSync): string {
  const lost = gone > 0 ? `, ${some(gone, 'run')} no longer returned by the service` : '';
  const open = unfinished > 0 ? ` ${some(unfinished, 'run')} not ended; the next sync reads them again.` : '';
  return `${some(runs, 'agent run')} read: ${some(added, 'new run')}, ${some(changed, 'run')} changed${lost}.${open} Written: ${printable(into)}`;
}
