import type { Output } from '../api/outputs/index.js';
import type { LimiterView } from '../core/limiter/limiter.js';
import type { SlotsInUse } from '../core/limiter/slots.js';
import type { PeriodSpend, SpendCaps } from '../core/purchase/spend.js';
import type { MaxCost } from '../core/row-job-schemas.js';
import { toMicros } from '../core/text/money.js';
import type { OtherLimit } from '../core/workflow-result-schemas.js';
import { type RuntimeConfig, UsageError } from '../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { columns, count, dollars, duration, type Fact, factLines, printable, some } from './text.js';

/** `searchflow limits`: shows the limits of the team and their use. `unblock`: first lifts the block. */
export async function limits(context: Context, flags: Flags<'limits'>): Promise<ExitCode> {
  return withRuntime(context, settings(context, flags), { bounded: true }, async ({ runtime, config }) => {
    if (flags.unblock) {
      const before = await runtime.team.limits();
      const isAwake = await runtime.team.unblock();
      context.terminal.say(unblockedText(before, isAwake));
    }
    const spend = await runtime.team.spend();
    const [limiter, others, slots, caps, spent] = await Promise.all([
      runtime.team.limits(),
      runtime.team.otherLimits(),
      runtime.team.slots(),
      spend.caps(),
      spend.spent(),
    ]);
    const workerElsewhere = runtime.team.workerElsewhere();
    const all = { config, limiter, others, slots, caps, spent, workerElsewhere, now: Date.now() };
    context.terminal.print(limitsData(all), limitsText(all));
  });
}

/** `searchflow limits set`: sets the caps of the team for each UTC day and month. `none` removes a cap. */
export async function setLimits(context: Context, flags: Flags<'limits set'>): Promise<ExitCode> {
  const { perDay: day, perMonth: month } = flags;
  const config = settings(context, {});
  if (day === undefined && month === undefined) {
    throw new UsageError(
      'missing-argument',
      'Pass --per-day, --per-month or both: an amount in dollars, or none to remove the cap.',
    );
  }
  return withRuntime(context, config, {}, async ({ runtime }) => {
    const spend = await runtime.team.spend();
    const caps = await spend.setCaps({ dayMicros: capMicros(day), monthMicros: capMicros(month) });
    const shown = (micros: number | null) => (micros === null ? 'no cap' : `at most ${dollars(micros)}`);
    context.terminal.say(
      `New caps: ${shown(caps.dayMicros)} per day, ${shown(caps.monthMicros)} per month (UTC). ` +
        'To resume a job that was paused by a cap:\n  searchflow resume JOB',
    );
  });
}

/** A cap in micro-dollars; null: `none`; undefined: as before. */
const capMicros = (cap: MaxCost | undefined) => (cap === undefined ? undefined : toMicros(cap));

/** All limits of a team, and the current use of each limit. */
interface Limits {
  readonly config: Pick<RuntimeConfig, 'origin' | 'concurrency' | 'store' | 'team'>;
  readonly limiter: LimiterView;
  /** Workers with a rate limit of their own. */
  readonly others?: readonly OtherLimit[];
  readonly slots: SlotsInUse;
  readonly caps: SpendCaps;
  readonly spent: { readonly day: PeriodSpend; readonly month: PeriodSpend };
  /** Id of the process that runs the folder's worker. Only that process knows the current use. Null if this process runs the worker. */
  readonly workerElsewhere: number | null;
  /** Unix ms. */
  readonly now: number;
}

const taken = (spend: PeriodSpend) => spend.landedMicros + spend.openMicros + spend.unknownMicros;
const rate = (qps: number) => `${Math.round(qps * 10) / 10}/s`;

/** Returns the limits as text. */
export function limitsText(limits: Limits): string {
  const { config, limiter, others = [], slots, caps, spent, workerElsewhere, now } = limits;
  const elsewhere = slots.elsewhere > 0 ? ` and ${slots.elsewhere} started elsewhere` : '';
  const facts: readonly Fact[] = [
    ['Service', printable(config.origin)],
    ['Shared by', whoShares(config)],
    ...others.map(
      ({ host, pid }): Fact => [
        'Not shared by',
        `worker ${pid} on ${printable(host)}: it uses another API key with its own rate limit`,
      ],
    ),
    ['Blocked', blockText(limiter, now)],
    ['Waiting', some(limiter.waiting, 'call')],
    ['Waiting for', limiter.heldBy === undefined ? null : printable(limiter.heldBy)],
    [
      'Current use',
      workerElsewhere === null
        ? null
        : `known only to the worker (process ${workerElsewhere}); the calls here do not include it`,
    ],
    ['In flight', `at most ${some(config.concurrency, 'paid request')} per worker`],
    [
      'Agent runs',
      `${slots.held} of ${slots.limit}${elsewhere}${slots.waiting > 0 ? `, ${slots.waiting} waiting` : ''}`,
    ],
    ['Left running', leftRunning(slots)],
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
    ...factLines(15, facts),
    `Rate profile ${printable(limiter.profile)}, in units:`,
    ...columns([['  bucket', 'configured', 'effective', 'used now'], ...buckets]),
  ].join('\n');
}

function leftRunning({ leftRunning: left }: SlotsInUse): string | null {
  if (left === 0) return null;
  const runs =
    left === 1 ? '1 run keeps its slot until it ends' : `${count(left)} runs keep their slots until they end`;
  return `past --max-run-time; ${runs}. To end one: searchflow agent cancel ID (ids: searchflow agent list)`;
}

function whoShares({ store, team }: Limits['config']): string {
  const who = team ? `the keys of team ${printable(team)}` : 'this key';
  return store ? `all workers of ${who} in ${printable(store.shown)}` : `the worker of this folder (${who})`;
}

function blockText({ blockedUntil, blockedSince, blockReason }: LimiterView, now: number): string {
  if (blockedUntil === null || blockedUntil <= now) return 'no';
  const left = duration((blockedUntil - now) / 1000);
  const since = blockedSince === null ? '' : ` since ${new Date(blockedSince).toISOString()}`;
  return `until ${new Date(blockedUntil).toISOString()} (${left} left)${since}: ${printable(blockReason ?? 'no reason given')}`;
}

/** What `--unblock` has done. `before`: the limits before it. `isAwake`: whether no work waits in Temporal any longer. */
function unblockedText({ blockedUntil, blockReason }: LimiterView, isAwake: boolean): string {
  const until = blockedUntil === null ? null : new Date(blockedUntil).toISOString();
  const asleep = `Work that waits in Temporal could not be woken. It continues ${until === null ? 'at the end of its wait' : `at ${until}`}. To wake it:\n  searchflow limits --unblock`;
  if (until === null) return `There was no block to lift.${isAwake ? '' : ` ${asleep}`}`;
  return (
    `The block until ${until} was lifted (${printable(blockReason ?? 'no reason given')}). ` +
    `${isAwake ? 'Waiting requests are sent within seconds.' : `${asleep}\n`} ` +
    'To resume a job that was paused by the block:\n  searchflow resume JOB'
  );
}

function spendText(spend: PeriodSpend, cap: number | null): string {
  const bound =
    cap === null ? ', no cap' : ` of ${dollars(cap)} (${Math.floor((100 * taken(spend)) / Math.max(1, cap))}%)`;
  const parts = [
    ...(spend.openMicros > 0 ? [`${dollars(spend.openMicros)} in flight`] : []),
    ...(spend.unknownMicros > 0 ? [`${dollars(spend.unknownMicros)} possibly charged (unknown outcomes)`] : []),
  ];
  return `${dollars(taken(spend))}${bound}${parts.length > 0 ? `, including ${parts.join(', ')}` : ''}`;
}

/** Returns the limits as JSON fields; dollars as numbers, times in ISO 8601. */
export function limitsData(limits: Limits): Output<'limits'> {
  const { config, limiter, others = [], slots, caps, spent, workerElsewhere } = limits;
  const period = (spend: PeriodSpend, cap: number | null) => ({
    since: new Date(spend.since).toISOString(),
    dollars: spend.landedMicros / 1e6,
    openDollars: spend.openMicros / 1e6,
    unknownDollars: spend.unknownMicros / 1e6,
    // The sum of the three fields above, which the cap limits.
    countedDollars: taken(spend) / 1e6,
    capDollars: cap === null ? null : cap / 1e6,
  });
  return {
    kind: 'limits',
    origin: config.origin,
    store: config.store?.shown ?? null,
    team: config.team ?? null,
    concurrency: config.concurrency,
    // Workers of the same task queue that do not share these limits.
    otherLimits: others,
    ...limiter,
    blockedUntil: limiter.blockedUntil === null ? null : new Date(limiter.blockedUntil).toISOString(),
    blockedSince: limiter.blockedSince === null ? null : new Date(limiter.blockedSince).toISOString(),
    slots,
    // The use of the limits by that worker is not included in the fields above.
    workerElsewhere,
    day: period(spent.day, caps.dayMicros),
    month: period(spent.month, caps.monthMicros),
  };
}

/** `searchflow alerts test`: sends a test alert to each receiver. */
export async function testAlerts(context: Context): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { bounded: true }, async ({ runtime }) => {
    const receivers = await runtime.testAlerts();
    const lines = receivers.map(({ receiver, error }) =>
      error === null
        ? `${receiver}: accepted the test alert`
        : `${receiver}: did not accept the test alert: ${printable(error)}`,
    );
    context.terminal.print<Output<'alertTest'>>({ kind: 'alertTest', receivers }, lines.join('\n'));
    return receivers.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.failed;
  });
}
