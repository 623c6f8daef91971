import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { inPackage } from '../../files/package-root.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { readAll, readFailedRows } from '../flag-values.js';
import { SCHEDULED_DETACH } from '../progress/plan.js';
import { toScheduleWish } from '../schedules/keep-schedule.js';
import type { Context, ExitCode, Flags } from '../shared/command.js';
import { settings } from '../shared/session.js';
import { mistakesCode, toEnrichRequest } from './enrich-request.js';
import { runEnrich, scheduleRows } from './run-enrich.js';

/** `searchflow enrich FILE`: buys page contents, or another `--op`, for every row. The same command resumes a stopped job. */
export async function enrich(context: Context, file: string | undefined, flags: Flags<'enrich'>): Promise<ExitCode> {
  const { request, wish, failedRows, mistakes } = readAll({
    request: () => toEnrichRequest(file, flags, context.cwd),
    wish: () => toScheduleWish(flags),
    failedRows: () => readFailedRows(flags.failOnFailedRows),
  });
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
    : scheduleRows(context, config, request, wish, manner);
}

/** `searchflow agent rows FILE`: `enrich --op agent`. */
export const agentRows = (context: Context, file: string | undefined, flags: Flags<'agentRows'>): Promise<ExitCode> =>
  enrich(context, file, { ...flags, op: 'agent' });

/** Half of the contract's rate. At this speed a person can watch the 35 requests of the demonstration. */
const DEMO_QPS = '5';

/**
 * `searchflow start` or `npm start`: enriches the example brands on the sandbox, even if an API key is set. With `--live`,
 * uses the real service, after a confirmation.
 */
export async function start(context: Context, flags: Flags<'start'>): Promise<ExitCode> {
  const file = inPackage('examples', 'brands.csv');
  if (!existsSync(file)) {
    throw new UsageError('installation-incomplete', `${file} is missing: install searchflow again.`);
  }
  const live = flags.live ?? false;
  const name = live ? 'brands-live' : 'brands';
  const request = toEnrichRequest(
    relative(context.cwd, file) || file,
    { urlColumn: 'source', job: name, into: `out/${name}.duckdb`, csv: `out/${name}.csv`, text: true },
    context.cwd,
  );
  const config = settings(context, {
    service: live ? 'live' : 'sandbox',
    qps: flags.qps ?? (live || context.env.SEARCHFLOW_QPS ? undefined : DEMO_QPS),
  });
  const { yes = false, json = false, dryRun = false } = flags;
  return runEnrich(context, config, request, { json, dryRun, yes, asksAlways: live });
}
