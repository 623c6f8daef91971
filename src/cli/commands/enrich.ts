import type { ConfigFlags } from '../../worker/config.js';
import type { Context, ExitCode } from '../context.js';
import { type EnrichFlags, toEnrichRequest } from '../enrich-request.js';
import { type ScheduleFlags, toScheduleWish } from '../schedule-flags.js';
import { settings } from '../settings.js';
import { runEnrich } from './run-enrich.js';
import { scheduleRows } from './schedule-rows.js';

export interface EnrichCommandFlags extends EnrichFlags, ConfigFlags, ScheduleFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `searchflow enrich FILE`: page contents, or what `--op` says, for every row, into a warehouse. The same command makes a stopped job go on. */
export async function enrich(context: Context, file: string, flags: EnrichCommandFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const request = toEnrichRequest(file, flags, context.cwd, mistakes);
  const wish = toScheduleWish(flags, mistakes);
  const config = settings(context, flags, mistakes);
  const { json = false, dryRun = false, yes = false } = flags;
  const manner = { json, dryRun, yes, asksAlways: false };
  return wish === null
    ? runEnrich(context, config, request, manner)
    : scheduleRows(context, config, request, wish, manner);
}
