import type { Output } from '../../api/outputs/index.js';
import type { MonitorExport } from '../../core/workflow-result-schemas.js';
import type { MonitorControl } from '../../worker/control/monitor-control.js';
import { readAll } from '../flag-values.js';
import { SCHEDULED_DETACH, showStarted } from '../progress/plan.js';
import { keepSchedule, toScheduleWish } from '../schedules/keep-schedule.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import type { Session } from '../shared/session.js';
import { withMonitors } from '../shared/with-access.js';
import { printable, some } from '../text.js';
import { toFilter } from './monitors.js';

/** `searchflow monitors export`: loads monitor runs and their results into a warehouse. With a schedule, new runs are loaded regularly. */
export async function exportRuns(context: Context, flags: Flags<'monitorExport'>): Promise<ExitCode> {
  const { terminal } = context;
  const { filter, wish, mistakes } = readAll({ filter: () => toFilter(flags), wish: () => toScheduleWish(flags) });
  if (wish !== null && flags.detach) mistakes.push(SCHEDULED_DETACH);
  const loads = wish?.timing !== 'never';
  const exports = async (control: MonitorControl, { runtime }: Session) => {
    const input = { filter, unchecked: flags.unchecked, ...control.target(flags.into) };
    if (wish !== null) await keepSchedule(context, await runtime.workflows(), wish, control.exportWork(input));
    if (!loads) return exitCodes.ok;
    const { name, work } = control.exportWork(input);
    const own = { job: name, workflowId: work.workflowId };
    if (flags.detach) {
      await runtime.work.checkDetached(own);
      await control.export(input, { detached: true });
      return showStarted(context, { job: name, state: 'started' }, flags.json ?? false);
    }
    await runtime.work.own(own);
    const done = await (await control.export(input)).result();
    const output: Output<'monitorRuns'> = { kind: 'export', ...done };
    if (flags.json) terminal.data(JSON.stringify(output));
    else terminal.say(exportText(done));
    return exitCodes.ok;
  };
  return withMonitors(context, flags, mistakes, exports, { loads, owns: true, detached: flags.detach });
}

export function exportText({ monitors, added, again, results, into }: MonitorExport): string {
  const reread = again > 0 ? `, ${some(again, 'run')} updated` : '';
  return `${some(monitors, 'monitor')}: ${some(added, 'new run')}${reread}, ${some(results, 'result')}. Written: ${printable(into)}`;
}
