import type { UsageOutput } from '../../api/outputs/index.js';
import type { UsageGroup, UsageLine } from '../../core/purchase/spend.js';
import { count, dollars } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

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
export function usageText(by: UsageGroup, lines: readonly UsageLine[]): string {
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
