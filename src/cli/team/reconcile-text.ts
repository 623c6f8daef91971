import type { ReconciliationOutput } from '../../api/outputs/index.js';
import type { ReconciledDay, Reconciliation } from '../../core/purchase/reconcile.js';
import { count, dollars, some } from '../text/amounts.js';
import { columns } from '../text/columns.js';
import { printable } from '../text/printable.js';

/** The subject of a comparison. */
export interface Compared {
  readonly origin: string;
  /** Ids of the API keys. */
  readonly keys: readonly string[];
  readonly team: string | null;
  /** The current UTC day, which is not over. */
  readonly today: string;
}

const amounts = [
  'journalMicros',
  'billedMicros',
  'differenceMicros',
  'unknownOutcomes',
  'atMostMicros',
  'unknownMicros',
  'priceMicros',
  'otherDayMicros',
  'roundingMicros',
  'unexplainedMicros',
] as const;
type Sums = Pick<ReconciledDay, (typeof amounts)[number]>;

function total(days: readonly Sums[]): Sums {
  const sum = (name: (typeof amounts)[number]) => days.reduce((all, day) => all + day[name], 0);
  return Object.fromEntries(amounts.map((name) => [name, sum(name)])) as unknown as Sums;
}

const signed = (micros: number): string => (micros > 0 ? `+${dollars(micros)}` : dollars(micros));

/** Columns that are left out if they are zero on each day. */
const parts: readonly (readonly [name: keyof Sums, title: string])[] = [
  ['unknownMicros', 'unknown outcomes'],
  ['priceMicros', 'prices'],
  ['otherDayMicros', 'other day'],
  ['roundingMicros', 'rounding'],
];

/** Returns the comparison as a table of the days with purchases or charges, with one sentence for each thing to know. */
export function reconciliationText({ days, changes, agrees }: Reconciliation, about: Compared): string {
  const shown = days.filter(
    ({ journalMicros, billedMicros, atMostMicros }) => journalMicros + billedMicros + atMostMicros > 0,
  );
  const sum = total(days);
  const used = parts.filter(([name]) => days.some((day) => day[name] !== 0));
  const cells = (title: string, one: Sums) => [
    title,
    dollars(one.journalMicros),
    dollars(one.billedMicros),
    signed(one.differenceMicros),
    ...used.map(([name]) => signed(one[name])),
    signed(one.unexplainedMicros),
  ];
  const head = ['day', 'journal', 'service', 'difference', ...used.map(([, title]) => title), 'unexplained'];
  const range = `${days[0]?.day ?? ''} to ${days.at(-1)?.day ?? ''}`;
  const who =
    about.keys.length === 1 ? `API key ${printable(about.keys[0] ?? '')}` : some(about.keys.length, 'API key');
  const table =
    shown.length === 0
      ? ['Neither the journal nor the service has a charge in this time.']
      : columns([head, ...shown.map((day) => cells(day.day, day)), ...(shown.length > 1 ? [cells('total', sum)] : [])]);
  return [
    `Journal and bill of ${printable(about.origin)}, ${who}, ${range} (UTC):`,
    ...table,
    ...notes(days, sum, about),
    ...changes.map(
      ({ day, name, before, after }) =>
        `The price of ${printable(name, 100)} changed on ${day} from ${dollars(Math.round(before))} to ${dollars(Math.round(after))}.`,
    ),
    ...(agrees
      ? [sum.differenceMicros === 0 && used.length === 0 ? 'Journal and bill agree.' : 'Every difference is explained.']
      : days.filter(({ unexplainedMicros }) => unexplainedMicros !== 0).flatMap((day) => unexplained(day, about))),
  ].join('\n');
}

function notes(days: readonly ReconciledDay[], sum: Sums, { keys }: Compared): string[] {
  const open = sum.atMostMicros - sum.unknownMicros;
  return [
    ...(sum.unknownOutcomes > 0
      ? [
          `${some(sum.unknownOutcomes, 'unknown outcome')}, at most ${dollars(sum.atMostMicros)} with requests in flight: ${dollars(sum.unknownMicros)} of it was charged${open > 0 ? ', the bill does not have the rest' : ''}.`,
        ]
      : []),
    ...(sum.otherDayMicros === 0 && days.some(({ otherDayMicros }) => otherDayMicros !== 0)
      ? ['Other day: the service charges at the end of a request or run, the journal counts on the day of its start.']
      : []),
    ...(keys.length > 1
      ? keys.map((id, index) => {
          const name = days.find((day) => day.keys[index]?.name)?.keys[index]?.name;
          const micros = days.reduce((all, day) => all + (day.keys[index]?.micros ?? 0), 0);
          return `  ${printable(id)}${name ? ` (${printable(name, 60)})` : ''}: ${dollars(micros)}`;
        })
      : []),
  ];
}

const MOST_PRICES = 5;

function unexplained({ day, unexplainedMicros, prices }: ReconciledDay, { today }: Compared): string[] {
  const lead = `${day}: ${dollars(Math.abs(unexplainedMicros))} is not explained. `;
  if (unexplainedMicros < 0)
    return [
      `${lead}The journal has more than the bill. ${day === today ? 'The day is not over: the service may bill later. Otherwise other' : 'Other'} keys of the team may have paid (SEARCHFLOW_KEY_ID), or the service gave a discount.`,
    ];
  const named = prices
    .slice(0, MOST_PRICES)
    .map(({ name, quantity, micros }) => `${printable(name, 60)} ${count(quantity)} × for ${dollars(micros)}`);
  return [
    `${lead}The service charged more than the journal has. Other programs with the same key, other state folders and runs of monitors are not in this journal.`,
    ...(named.length > 0 ? [`  Billed: ${named.join(', ')}${prices.length > MOST_PRICES ? ', …' : ''}`] : []),
  ];
}

const toDollars = (micros: number): number => micros / 1e6;

/** Returns the comparison as JSON fields; dollars are exact to six decimals. */
export function reconciliationData({ days, changes, agrees }: Reconciliation, about: Compared): ReconciliationOutput {
  const data = (one: Sums) => ({
    journalDollars: toDollars(one.journalMicros),
    serviceDollars: toDollars(one.billedMicros),
    differenceDollars: toDollars(one.differenceMicros),
    unknownOutcomes: one.unknownOutcomes,
    unknownAtMostDollars: toDollars(one.atMostMicros),
    explained: {
      unknownOutcomesDollars: toDollars(one.unknownMicros),
      pricesDollars: toDollars(one.priceMicros),
      otherDayDollars: toDollars(one.otherDayMicros),
      roundingDollars: toDollars(one.roundingMicros),
    },
    unexplainedDollars: toDollars(one.unexplainedMicros),
  });
  return {
    kind: 'reconciliation',
    origin: about.origin,
    team: about.team,
    agrees,
    days: days.map((day) => ({
      day: day.day,
      ...data(day),
      keys: day.keys.map(({ id, name, micros }) => ({ id, name, serviceDollars: toDollars(micros) })),
      prices: day.prices.map(({ id, name, quantity, micros }) => ({ id, name, quantity, dollars: toDollars(micros) })),
    })),
    priceChanges: changes.map(({ day, name, before, after }) => ({
      ...{ day, name, beforeDollars: toDollars(before), afterDollars: toDollars(after) },
    })),
    total: data(total(days)),
  };
}
