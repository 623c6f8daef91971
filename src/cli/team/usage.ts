import type { UsageGroup } from '../../core/purchase/spend.js';
import { parseDay, parseLastDay } from '../options/day-option.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { usageData, usageText } from './usage-text.js';

export interface UsageFlags {
  readonly by: UsageGroup;
  readonly since?: string;
  readonly until?: string;
  readonly reconcile?: boolean;
  readonly json?: boolean;
}

/** `searchflow usage`: shows requests and cost of the team by job, operation or UTC day. */
export async function usage(context: Context, flags: UsageFlags): Promise<ExitCode> {
  const mistakes: string[] = [];
  const now = Date.now();
  const day = (text: string | undefined, flag: string, parse: typeof parseDay): number | undefined => {
    if (text === undefined) return undefined;
    const at = parse(text, now);
    if (at === null)
      mistakes.push(`${flag}: '${text}' must be a UTC date (2026-11-21) or an age in days or weeks (7d, 2w).`);
    return at ?? undefined;
  };
  const since = day(flags.since, '--since', parseDay);
  const until = day(flags.until, '--until', parseLastDay);
  if (since !== undefined && until !== undefined && since >= until) {
    mistakes.push(`--since ${flags.since} must not be after --until ${flags.until}.`);
  }
  if (flags.reconcile)
    return (await import('./reconcile.js')).reconcileUsage(context, flags, { since, until, now, mistakes });
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime }) => {
    const lines = await (await runtime.team.spend()).usage(flags.by, since, until);
    if (flags.json) context.terminal.data(JSON.stringify(usageData(flags.by, lines)));
    else if (lines.length > 0) context.terminal.data(usageText(flags.by, lines));
    else context.terminal.note('No purchases in this period.');
    return exitCodes.ok;
  });
}
