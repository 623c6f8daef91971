import type { MonitorExport } from '../../core/monitor-export.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { parseDuration } from '../duration-option.js';
import { type FilterFlags, toFilter } from '../monitor-flags.js';
import { some } from '../render/amounts.js';
import { printable } from '../render/printable.js';
import { withMonitors } from '../with-monitors.js';

/** More often nothing new is to be had: monitors run every hour at most. */
const LEAST_MS = 60_000;

/** `searchflow monitors export`: runs and results into a warehouse, once or by a schedule. */
export async function exportRuns(
  context: Context,
  flags: FilterFlags & {
    readonly into?: string;
    readonly every?: string;
    readonly json?: boolean;
    readonly qps?: string;
  },
): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  const filter = toFilter(flags, mistakes);
  const every = flags.every === undefined || flags.every === 'never' ? null : parseDuration(flags.every);
  if (flags.every !== undefined && flags.every !== 'never' && (every === null || every < LEAST_MS)) {
    mistakes.push(`--every: '${flags.every}' is not a duration of at least a minute, such as 6h, nor never.`);
  }
  return withMonitors(context, flags, mistakes, async (control, _session, config) => {
    const input = { filter, ...control.place(flags.into) };
    if (flags.every === 'never') {
      const was = await control.exportNever(input);
      terminal.say(was ? 'The schedule of this export is removed.' : 'This export has no schedule.');
      return exitCodes.ok;
    }
    if (every !== null) {
      await control.exportEvery(input, every);
      terminal.say(`Exported every ${flags.every} from now on; the first time now.`);
      if (config.temporalAddress === null) {
        terminal.say(
          'The schedule fires only while this folder has a server and a worker: keep `searchflow dev` running.',
        );
      }
    }
    const done = await (await control.export(input)).result();
    if (flags.json) terminal.data(JSON.stringify({ kind: 'export', ...done }));
    else terminal.say(exportText(done));
    return exitCodes.ok;
  });
}

function exportText({ monitors, added, again, results, into }: MonitorExport): string {
  const reread = again > 0 ? `, ${some(again, 'run')} read again` : '';
  return `${some(monitors, 'monitor')}: ${some(added, 'new run')}${reread}, ${some(results, 'result')}. Written: ${printable(into)}`;
}
