import type { AgentSyncOutput } from '../../api/outputs/index.js';
import type { AgentRunSync } from '../../core/runs/agent-run-sync.js';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { startSync, syncTarget, syncWork } from '../../worker/control/agent-control.js';
import { keepSchedule } from '../schedules/keep-schedule.js';
import type { ScheduleFlags } from '../schedules/schedule-flags.js';
import { toScheduleWish } from '../schedules/schedule-wish.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import type { Session } from '../shared/session.js';
import { withAccess } from '../shared/with-access.js';
import { some } from '../text/amounts.js';
import { printable } from '../text/printable.js';

export interface AgentSyncFlags extends ScheduleFlags {
  readonly into?: string;
  readonly json?: boolean;
  readonly qps?: string;
}

/** `searchflow agent sync`: loads all agent runs of the team into a warehouse. With a schedule, new runs are loaded regularly. */
export async function agentSync(context: Context, flags: AgentSyncFlags): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  const wish = toScheduleWish(flags, mistakes);
  const loads = wish?.timing !== 'never';
  const sync = async (access: WorkflowAccess, { runtime }: Session, config: RuntimeConfig) => {
    const { name, work } = syncWork(config, syncTarget(access, flags.into, context.cwd));
    if (wish !== null) await keepSchedule(context, await runtime.workflows(), wish, { name, work });
    if (!loads) return exitCodes.ok;
    await runtime.work.own({ job: name, workflowId: work.workflowId });
    const done = await (await startSync(access, work)).result();
    const output: AgentSyncOutput = { kind: 'agent-sync', ...done, watermark: time(done.watermark) };
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
