import type { UsageOutput } from '../../api/outputs/index.js';
import type { UsageGroup, UsageLine } from '../../core/purchase/spend.js';
import { parseDay, parseLastDay } from '../options/day-option.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, dollars } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

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

type Sums = Omit<UsageLine, 'group'>;

const none: Sums = { requests: 0, units: 0, landedMicros: 0, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 };

function total(lines: readonly UsageLine[]): Sums {
  return lines.reduce<Sums>(
    (sum, line) => ({
      requests: sum.requests + line.requests,
      units: sum.units + line.units,
      landedMicros: sum.landedMicros + line.landedMicros,
      openMicros: sum.openMicros + line.openMicros,
      unknownOutcomes: sum.unknownOutcomes + line.unknownOutcomes,
      unknownMicros: sum.unknownMicros + line.unknownMicros,
    }),
    none,
  );
}

/** Returns requests and cost by group as a table with a total. Empty columns are left out. */
function usageText(by: UsageGroup, lines: readonly UsageLine[]): string {
  const sum = total(lines);
  const cells = (name: string, one: Sums) => [
    name,
    count(one.requests),
    count(one.units),
    dollars(one.landedMicros),
    ...(sum.openMicros > 0 ? [dollars(one.openMicros)] : []),
    ...(sum.unknownOutcomes > 0 ? [count(one.unknownOutcomes), dollars(one.unknownMicros)] : []),
  ];
  const head = [
    by,
    'requests',
    'units',
    'spent',
    ...(sum.openMicros > 0 ? ['in flight (max.)'] : []),
    ...(sum.unknownOutcomes > 0 ? ['unknown outcomes', 'possibly charged'] : []),
  ];
  const rows = lines.map((line) => cells(printable(line.group), line));
  return columns([head, ...rows, ...(lines.length === 1 ? [] : [cells('total', sum)])]).join('\n');
}

/** Returns requests and cost as JSON fields; dollars are exact to six decimals. */
export function usageData(by: UsageGroup, lines: readonly UsageLine[]): UsageOutput {
  const data = ({ requests, units, landedMicros, openMicros, unknownOutcomes, unknownMicros }: Sums) => ({
    requests,
    units,
    dollars: landedMicros / 1e6,
    openDollars: openMicros / 1e6,
    unknownOutcomes,
    unknownDollars: unknownMicros / 1e6,
  });
  return {
    kind: 'usage',
    by,
    lines: lines.map((line) => ({ [by]: line.group, ...data(line) })),
    total: data(total(lines)),
  };
}
