import { z } from 'zod';
import { count, list, maybeText, number, text, time, type ValueOf } from '../base-schemas.js';

// What is read from the journal. Times in Unix ms, amounts in micro-dollars.

/** The team's caps by UTC day and month; null: none. */
export const spendCaps = z.object({ dayMicros: number.nullable(), monthMicros: number.nullable() });
export type SpendCaps = ValueOf<typeof spendCaps>;

const amounts = {
  landedMicros: number,
  openMicros: number.describe('Estimates of requests in flight.'),
  unknownMicros: number.describe('Likely prices of unknown outcomes, which may have been charged.'),
};
/** The spend of the requests that were sent in a period, even if their answers landed later. */
export const periodSpend = z.object({ since: number, ...amounts });
export type PeriodSpend = ValueOf<typeof periodSpend>;

/** Sums of purchases. */
export const sums = z.object({
  requests: count.describe('Number of requests with a landed answer. `units`: number of their units.'),
  units: count,
  landedMicros: amounts.landedMicros,
  openMicros: amounts.openMicros,
  unknownOutcomes: count,
  unknownMicros: amounts.unknownMicros,
});
export const usageLine = z.object({
  group: text.describe('Job id (`calls` for single calls), operation, or UTC day (`2026-11-21`).'),
  ...sums.shape,
});
/** One line of a team's usage. */
export type UsageLine = ValueOf<typeof usageLine>;

export const usageGroup = z.enum(['job', 'operation', 'day']);
export type UsageGroup = z.output<typeof usageGroup>;

/** Sums of a UTC day and an operation. */
export const dayUsage = z.object({ day: text, operation: text, ...sums.shape });
export type DayUsage = ValueOf<typeof dayUsage>;

/** The paid requests that began in one step of the time, for one bucket of the rate profile: from the intents, answers and misses of the journal. */
export const activityStep = z.object({
  bucket: text,
  at: number.describe('Start of the step.'),
  requests: count.describe('Requests that were sent. `units`: their units of the rate limit.'),
  units: count,
  active: count.describe('Number of windows with a request. `busiest`: the units of the busiest of them.'),
  busiest: count,
  answered: count,
  seconds: number.describe('Sum of the times from intent to answer. `slowest`: the longest of them, in seconds.'),
  slowest: number,
  limited: count.describe('Answers 429. `waitSeconds`: sum of the waits that they named.'),
  waitSeconds: number,
  failed: count.describe('Requests that the service refused or failed otherwise, without a charge.'),
  lost: count.describe('Unknown outcomes.'),
});
export type ActivityStep = ValueOf<typeof activityStep>;

/** Journal and bill of a time. */
export const compared = z.object({
  journalMicros: number,
  serviceMicros: number,
  differenceMicros: number,
  unknownOutcomes: count,
  unknownAtMostMicros: number.describe('What unknown outcomes and requests in flight count as.'),
  unknownMicros: number.describe('The part of the difference that unknown outcomes and requests in flight explain.'),
  unexplainedMicros: number.describe(
    'The part that neither they, nor whole cents, nor the day before or after explain: a run is charged at its end and counted at its start.',
  ),
  keys: list(z.object({ id: text, name: maybeText, serviceMicros: number })).describe('The bill by the id of a key.'),
});
export const reconciledDay = z.object({ day: text, ...compared.shape });
/** A day of the journal and of the bill. */
export type ReconciledDay = ValueOf<typeof reconciledDay>;

/** A purchase without an answer, which may have been charged. */
export const unknownOutcome = z.object({
  // The column of the warehouse is also called `book`.
  book: text.describe('Name of the journal segment of the purchase.'),
  operation: text,
  units: count,
  intendedAt: number,
  reason: text,
  estimateMicros: number.describe('Its likely price.'),
});
/** Messages have the number of the units, and the journal their keys. */
export type UnknownOutcome = Omit<ValueOf<typeof unknownOutcome>, 'units'> & { readonly keys: readonly string[] };

export const attempt = z.object({
  at: number.describe('Time of the intent.'),
  endedAt: time.describe('Time of the answer, or of the record that none came; null while the request is open.'),
  outcome: z
    .enum(['landed', 'free', 'unknown', 'open', 'unsent'])
    .describe(
      '`free`: it failed and was certainly not charged; `unknown`: no answer came, it may have been charged; `open`: in flight, or its run is in progress at the service; `unsent`: it was held back before it was sent.',
    ),
  requestId: maybeText,
  run: maybeText.describe('Id of the run at the service, if the request is known to have started one.'),
  reason: maybeText.describe('Why there is no answer.'),
  units: count.describe('Number of units of the request.'),
  costMicros: number
    .nullable()
    .describe(
      "The unit's share of the cost; null: not known, because the answer was replaced by a newer one and is no longer stored.",
    ),
  requestMicros: number.describe(
    'What the whole request cost, or the most that it may cost while no answer has landed.',
  ),
});
/** A request for a unit, from the journal. `segment` begins with the job. `came`: the text instead of an answer; only if it was asked for. */
export type Attempt = ValueOf<typeof attempt> & {
  readonly segment: string;
  readonly operation: string;
  readonly came?: string | null;
};

/** The answer of a unit that the journal has now. */
export const landedUnit = z.object({
  at: number,
  status: z.enum(['success', 'error']),
  tag: maybeText,
  bought: z
    .boolean()
    .describe(
      'False: the unit ended without a request, such as after refusals, or its answer came from the warehouse.',
    ),
  bytes: count.nullable().describe('Size of its body; null if the body was pruned and its size with it.'),
  inJournal: z.boolean().describe('Whether the journal still has the body.'),
});
export type LandedUnit = ValueOf<typeof landedUnit> & { readonly segment: string };
