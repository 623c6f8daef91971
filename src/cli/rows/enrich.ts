import type { ConfigFlags } from '../../worker/config/config.js';
import { readFailedRows } from '../options/failed-rows-option.js';
import { SCHEDULED_DETACH } from '../progress/started.js';
import type { ScheduleFlags } from '../schedules/schedule-flags.js';
import { toScheduleWish } from '../schedules/schedule-wish.js';
import type { Context, ExitCode } from '../shared/context.js';
import { settings } from '../shared/settings.js';
import { type EnrichFlags, mistakesCode, toEnrichRequest } from './enrich-request.js';
import { runEnrich } from './run-enrich.js';

export interface EnrichCommandFlags extends EnrichFlags, ConfigFlags, ScheduleFlags {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly detach?: boolean;
  /** `true` if the flag has no value. */
  readonly failOnFailedRows?: true | string;
}

/** `searchflow enrich FILE`: buys page contents, or another `--op`, for every row. The same command resumes a stopped job. */
export async function enrich(context: Context, file: string | undefined, flags: EnrichCommandFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const request = toEnrichRequest(file, flags, context.cwd, mistakes);
  const wish = toScheduleWish(flags, mistakes);
  const failedRows = readFailedRows(flags.failOnFailedRows, mistakes);
  if (wish !== null && failedRows !== null)
    mistakes.push('--fail-on-failed-rows needs a run that this command watches; a schedule has no exit code.');
  const { json = false, dryRun = false, yes = false, detach = false } = flags;
  if (wish !== null && flags.reparse)
    mistakes.push('--reparse is for one run, and cannot be scheduled. Pass it without --every and --cron.');
  if (detach && wish !== null) mistakes.push(SCHEDULED_DETACH);
  if (detach && failedRows !== null)
    mistakes.push('--fail-on-failed-rows needs a run that this command watches. Pass it to `searchflow wait`.');
  if (detach && (dryRun || flags.reparse))
    mistakes.push(`--detach starts a run, and ${dryRun ? '--dry-run' : '--reparse'} starts none. Pass one of them.`);
  const source = file ?? flags.from;
  const config = settings(
    context,
    source === undefined ? flags : { ...flags, source },
    mistakes,
    mistakesCode(source, context.cwd),
  );
  const manner = { json, dryRun, yes, detach, asksAlways: false, failedRows };
  return wish === null
    ? runEnrich(context, config, request, manner)
    : (await import('./schedule-rows.js')).scheduleRows(context, config, request, wish, manner);
}
