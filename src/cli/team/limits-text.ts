import type { LimiterView } from '../../core/limiter/limiter.js';
import type { SlotsView } from '../../core/limiter/slots.js';
import type { PeriodSpend, SpendCaps } from '../../core/purchase/spend.js';
import type { OtherLimit } from '../../core/text/presence.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';
import { dollars, duration, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

/** All that bounds a team, and how much of it is taken. */
export interface Limits {
  readonly config: Pick<RuntimeConfig, 'origin' | 'concurrency' | 'store' | 'team'>;
  readonly limiter: LimiterView;
  /** Workers that keep to a limit of their own. */
  readonly others?: readonly OtherLimit[];
  readonly slots: SlotsView;
  readonly caps: SpendCaps;
  readonly spent: { readonly day: PeriodSpend; readonly month: PeriodSpend };
  /** Process whose worker has the store of the folder: what is in use it alone knows. */
  readonly workerElsewhere: number | null;
  /** Unix ms. */
  readonly now: number;
}

const taken = (spend: PeriodSpend) => spend.landedMicros + spend.openMicros + spend.unknownMicros;
const rate = (qps: number) => `${Math.round(qps * 10) / 10}/s`;

/** The limits for a person. */
export function limitsText(limits: Limits): string {
  const { config, limiter, others = [], slots, caps, spent, workerElsewhere, now } = limits;
  const elsewhere = slots.elsewhere > 0 ? ` and ${slots.elsewhere} started elsewhere` : '';
  const lines: (readonly [string, string])[] = [
    ['Service', printable(config.origin)],
    ['Shared by', whoShares(config)],
    ...others.map(
      ({ host, pid }) =>
        ['Not shared by', `the worker ${pid} on ${printable(host)}: another key, a limit of its own`] as const,
    ),
    ['Blocked', blockText(limiter, now)],
    ['Waiting', some(limiter.waiting, 'call')],
    ...(limiter.heldBy === undefined ? [] : ([['Waits for', printable(limiter.heldBy)]] as const)),
    ...(workerElsewhere === null
      ? []
      : ([
          ['In use', `known to the worker alone (process ${workerElsewhere}); what is used below is not its`],
        ] as const)),
    ['In flight', `at most ${some(config.concurrency, 'paid request')} a worker`],
    [
      'Agent runs',
      `${slots.held} of ${slots.limit}${elsewhere}${slots.waiting > 0 ? `, ${slots.waiting} waiting` : ''}`,
    ],
    ['Spent today', spendText(spent.day, caps.dayMicros)],
    ['This month', spendText(spent.month, caps.monthMicros)],
  ];
  const buckets = limiter.buckets.map((one) => [
    `  ${printable(one.name)}`,
    rate(one.qps),
    rate(one.effectiveQps),
    rate(one.used),
  ]);
  return [
    ...lines.map(([name, value]) => `${`${name}:`.padEnd(15)}${value}`),
    `Rate profile ${printable(limiter.profile)}, in units:`,
    ...columns([['  bucket', 'configured', 'effective', 'used now'], ...buckets]),
  ].join('\n');
}

function whoShares({ store, team }: Limits['config']): string {
  const who = team ? `the keys of team ${printable(team)}` : 'this key';
  return store ? `all workers of ${who} in ${printable(store.shown)}` : `the one worker of this folder (${who})`;
}

function blockText({ blockedUntil, blockReason }: LimiterView, now: number): string {
  if (blockedUntil === null || blockedUntil <= now) return 'no';
  const left = duration((blockedUntil - now) / 1000);
  return `until ${new Date(blockedUntil).toISOString()} (${left} left): ${printable(blockReason ?? 'no reason was given')}`;
}

function spendText(spend: PeriodSpend, cap: number | null): string {
  const bound =
    cap === null ? ', no cap' : ` of ${dollars(cap)} (${Math.floor((100 * taken(spend)) / Math.max(1, cap))}%)`;
  const parts = [
    ...(spend.openMicros > 0 ? [`${dollars(spend.openMicros)} in flight`] : []),
    ...(spend.unknownMicros > 0 ? [`${dollars(spend.unknownMicros)} perhaps charged, unknown outcomes`] : []),
  ];
  return `${dollars(taken(spend))}${bound}${parts.length > 0 ? `; of it ${parts.join(', ')}` : ''}`;
}

/** The limits for machines; dollars as numbers, times in ISO 8601. */
export function limitsData({ config, limiter, others = [], slots, caps, spent, workerElsewhere }: Limits): object {
  const period = (spend: PeriodSpend, cap: number | null) => ({
    since: new Date(spend.since).toISOString(),
    dollars: spend.landedMicros / 1e6,
    openDollars: spend.openMicros / 1e6,
    unknownDollars: spend.unknownMicros / 1e6,
    // What the cap counts: the three above.
    countedDollars: taken(spend) / 1e6,
    capDollars: cap === null ? null : cap / 1e6,
  });
  return {
    kind: 'limits',
    origin: config.origin,
    store: config.store?.shown ?? null,
    team: config.team ?? null,
    concurrency: config.concurrency,
    // Workers of the same task queue that do not keep to these limits.
    otherLimits: others,
    ...limiter,
    blockedUntil: limiter.blockedUntil === null ? null : new Date(limiter.blockedUntil).toISOString(),
    slots,
    // What it has in use is not in the figures above.
    workerElsewhere,
    day: period(spent.day, caps.dayMicros),
    month: period(spent.month, caps.monthMicros),
  };
}
