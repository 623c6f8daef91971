import type { Output } from '../api/command-outputs.js';
import type { LimiterView } from '../core/limiter/limiter.js';
import type { SlotsInUse } from '../core/limiter/slots.js';
import { committed } from '../core/purchase/spend.js';
import type { MaxCost } from '../core/row-job-schemas.js';
import { toMicros } from '../core/text/money.js';
import { UsageError } from '../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { settings, withRuntime } from './shared/session.js';
import { columns, count, dollars, duration, type Fact, factLines, isoTime, printable, some, toDo } from './text.js';

export async function limits(context: Context, flags: Flags<'limits'>): Promise<ExitCode> {
  return withRuntime(context, settings(context, flags), { bounded: true }, async ({ runtime, config }) => {
    if (flags.unblock) {
      const before = await runtime.team.limits();
      const isAwake = await runtime.team.unblock();
      context.terminal.say(unblockedText(before, isAwake));
    }
    const spend = await runtime.team.spend();
    const [limiter, otherLimits, slots, caps, spent] = await Promise.all([
      runtime.team.limits(),
      runtime.team.otherLimits(),
      runtime.team.slots(),
      spend.caps(),
      spend.spent(),
    ]);
    const { origin, store, team = null, concurrency } = config;
    const data: Output<'limits'> = {
      ...{ kind: 'limits', origin, store: store?.shown ?? null, team, concurrency, otherLimits, ...limiter, slots },
      day: { ...spent.day, countedMicros: committed(spent.day), capMicros: caps.dayMicros },
      month: { ...spent.month, countedMicros: committed(spent.month), capMicros: caps.monthMicros },
    };
    context.terminal.print(data, limitsText(data, Date.now()));
  });
}

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
    const next = toDo('To resume a job that was paused by a cap', 'resume', 'JOB');
    context.terminal.say(
      `New caps: ${shown(caps.dayMicros)} per day, ${shown(caps.monthMicros)} per month (UTC). ${next}`,
    );
  });
}

/** A cap in micro-dollars; null: `none`; undefined: as before. */
const capMicros = (cap: MaxCost | undefined) => (cap === undefined ? undefined : toMicros(cap));

const rate = (qps: number) => `${Math.round(qps * 10) / 10}/s`;

function limitsText(limits: Output<'limits'>, now: number): string {
  const { slots } = limits;
  const elsewhere = slots.elsewhere > 0 ? ` and ${slots.elsewhere} started elsewhere` : '';
  const waiting = slots.waiting > 0 ? `, ${slots.waiting} waiting` : '';
  const facts: readonly Fact[] = [
    ['Service', printable(limits.origin)],
    ['Shared by', whoShares(limits)],
    ...limits.otherLimits.map(
      ({ host, pid }): Fact => [
        'Not shared by',
        `worker ${pid} on ${printable(host)}: it uses another API key with its own rate limit`,
      ],
    ),
    ['Blocked', blockText(limits, now)],
    ['Waiting', some(limits.waiting, 'call')],
    ['In flight', `at most ${some(limits.concurrency, 'paid request')} per worker`],
    ['Agent runs', `${slots.held} of ${slots.limit}${elsewhere}${waiting}`],
    ['Left running', leftRunning(slots)],
    ['Spent today', spendText(limits.day)],
    ['This month', spendText(limits.month)],
  ];
  const buckets = limits.buckets.map((one) => [
    `  ${printable(one.name)}`,
    ...[one.qps, one.effectiveQps, one.used].map(rate),
  ]);
  return [
    ...factLines(15, facts),
    `Rate profile ${printable(limits.profile)}, in units:`,
    ...columns([['  bucket', 'configured', 'effective', 'used now'], ...buckets]),
  ].join('\n');
}

function leftRunning({ leftRunning: left }: SlotsInUse): string | null {
  if (left === 0) return null;
  const runs =
    left === 1 ? '1 run keeps its slot until it ends' : `${count(left)} runs keep their slots until they end`;
  return `past --max-run-time; ${runs}. To end one: searchflow agent cancel ID (ids: searchflow agent list)`;
}

function whoShares({ store, team }: Output<'limits'>): string {
  const who = team ? `the keys of team ${printable(team)}` : 'this key';
  return store ? `all workers of ${who} in ${printable(store)}` : `all processes of this user on this machine (${who})`;
}

function blockText({ blockedUntil, blockedSince, blockReason }: Output<'limits'>, now: number): string {
  if (blockedUntil === null || blockedUntil <= now) return 'no';
  const since = blockedSince === null ? '' : ` since ${isoTime(blockedSince)}`;
  return `until ${isoTime(blockedUntil)} (${duration((blockedUntil - now) / 1000)} left)${since}: ${printable(blockReason ?? 'no reason given')}`;
}

/** What `--unblock` has done. `before`: the limits before it. `isAwake`: whether no work waits in Temporal any longer. */
function unblockedText({ blockedUntil, blockReason }: LimiterView, isAwake: boolean): string {
  const until = isoTime(blockedUntil);
  const asleep = `Work that waits in Temporal could not be woken. It continues ${until === null ? 'at the end of its wait' : `at ${until}`}. ${toDo('To wake it', 'limits', '--unblock')}`;
  if (until === null) return `There was no block to lift.${isAwake ? '' : ` ${asleep}`}`;
  const rest = isAwake ? 'Waiting requests are sent within seconds.' : `${asleep}\n`;
  const next = toDo('To resume a job that was paused by the block', 'resume', 'JOB');
  return `The block until ${until} was lifted (${printable(blockReason ?? 'no reason given')}). ${rest} ${next}`;
}

function spendText({ countedMicros, openMicros, unknownMicros, capMicros: cap }: Output<'limits'>['day']): string {
  const share = Math.floor((100 * countedMicros) / Math.max(1, cap ?? 0));
  const parts = [
    ...(openMicros > 0 ? [`${dollars(openMicros)} in flight`] : []),
    ...(unknownMicros > 0 ? [`${dollars(unknownMicros)} possibly charged (unknown outcomes)`] : []),
  ];
  const bound = cap === null ? ', no cap' : ` of ${dollars(cap)} (${share}%)`;
  return `${dollars(countedMicros)}${bound}${parts.length > 0 ? `, including ${parts.join(', ')}` : ''}`;
}

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
