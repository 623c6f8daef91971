import { z } from 'zod';
import { flatProfile, type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import { faultsSchema } from './fault.js';

const ms = z.number().nonnegative();
const share = z.number().min(0).max(1);
const count = z.number().int().positive();

/** Milliseconds, or a range from which the seed chooses a value. */
const durationSchema = z.union([
  ms,
  z.strictObject({ min: ms, max: ms }).refine(({ min, max }) => min <= max, 'min is above max'),
]);

/** The milliseconds of a duration. `fraction`: from 0 to 1, the position in a range. */
export function millisOf(duration: z.infer<typeof durationSchema>, fraction: number): number {
  return typeof duration === 'number' ? duration : Math.round(duration.min + fraction * (duration.max - duration.min));
}

/**
 * Behaviour of agent runs; defaults in parentheses. A run is queued for `queuedMs` (0) and ends `durationMs` (500 to 2000) after its
 * creation. While `maxInProgress` (50) runs are in progress, another one is refused with 429. The share `failureRate` (0) of all runs
 * fails; the share `budgetRate` (0.05) of the runs billed by usage uses up its budget. The shares `unknownStatusRate` (0) and
 * `unknownStopReasonRate` (0) end with an unknown value. A run has `progressEvents` (3); a stream gets a comment every `keepAliveMs`
 * (15,000). `replay` decides what happens to the header `Last-Event-ID`: the header is obeyed (`full`, the default), refused with 400
 * (`refuse`) or ignored (`forget`).
 */
const agentRunsSchema = z.strictObject({
  queuedMs: durationSchema.default(0),
  durationMs: durationSchema.default({ min: 500, max: 2000 }),
  maxInProgress: count.default(50),
  failureRate: share.default(0),
  budgetRate: share.default(0.05),
  unknownStatusRate: share.default(0),
  unknownStopReasonRate: share.default(0),
  progressEvents: z.number().int().min(0).max(1000).default(3),
  keepAliveMs: count.default(15_000),
  replay: z.enum(['full', 'refuse', 'forget']).default('full'),
});

/**
 * Behaviour of research tasks; defaults in parentheses. A task takes `durationMs` (500 to 2000). While `maxInProgress` (15)
 * tasks are in progress, another one is refused with 429. The share `failureRate` (0) of the tasks fails.
 */
const researchSchema = z.strictObject({
  durationMs: durationSchema.default({ min: 500, max: 2000 }),
  maxInProgress: count.default(15),
  failureRate: share.default(0),
});

/**
 * Behaviour of monitor runs and their webhooks; defaults in parentheses. A run takes `durationMs` (200 to 800). The share
 * `failureRate` (0) of the runs fails, with `failReason` or a random reason. Deliveries have their signature in the header
 * `signatureHeader` (`Exa-Signature`). Each event is delivered `webhookRepeat` (1) times. A delivery has up to
 * `webhookAttempts` (3) attempts, `webhookRetryMs` (1000) apart; an attempt times out after `webhookTimeoutMs` (5000).
 */
const monitorsSchema = z.strictObject({
  durationMs: durationSchema.default({ min: 200, max: 800 }),
  failureRate: share.default(0),
  failReason: z.string().min(1).nullable().default(null),
  signatureHeader: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/)
    .default('Exa-Signature'),
  webhookAttempts: count.default(3),
  webhookRetryMs: ms.default(1000),
  webhookTimeoutMs: count.default(5000),
  webhookRepeat: count.default(1),
});

const instant = z.iso.datetime({ offset: true });

/**
 * The history of webset events; defaults in parentheses. `count` (1000) events lie between `from` (30 days before `to`) and
 * `to` (the start of the sandbox). Groups of `sameTimestamp` (1) events have the same timestamp. `order`: the list begins with
 * the `newest` (default) or the `oldest` events. The share `late` (0) of the events appears `lateMs` (a minute to an hour)
 * after its time. `arrivingPerSecond` (0) new events arrive each second. `paging`: with `offset`, new events shift the pages;
 * with `position` (default), they do not. A cursor is refused after `cursorTtlMs` (never).
 */
const eventsSchema = z
  .strictObject({
    count: z.number().int().min(0).max(100_000_000).default(1000),
    from: instant.optional(),
    to: instant.optional(),
    order: z.enum(['newest', 'oldest']).default('newest'),
    sameTimestamp: count.default(1),
    late: share.default(0),
    lateMs: durationSchema.default({ min: 60_000, max: 3_600_000 }),
    arrivingPerSecond: z.number().nonnegative().default(0),
    paging: z.enum(['position', 'offset']).default('position'),
    cursorTtlMs: count.nullable().default(null),
  })
  .refine(({ from, to }) => !from || !to || Date.parse(from) <= Date.parse(to), {
    path: ['from'],
    message: 'is after `to`',
  });

const rateSchema = z.union([
  z.enum(Object.keys(rateProfiles)),
  z.strictObject({
    name: z.string().default('own'),
    buckets: z
      .array(
        z.strictObject({
          name: z.string().min(1),
          qps: z.number().positive(),
          classes: z.array(z.string()).readonly(),
          of: z.enum(['team', 'key']).default('team'),
        }),
      )
      .min(1)
      .readonly(),
  }),
]);

const optionsSchema = z.strictObject({
  /** Port on 127.0.0.1; 0 selects a free one. Default 0. */
  port: z.number().int().min(0).max(65_535).default(0),
  /** Seed of every page, failure and random number. Default 1. */
  seed: z.number().int().default(1),
  /** API keys that are accepted; null accepts any. Default null. */
  keys: z.array(z.string().min(1)).readonly().nullable().default(null),
  /** The service key that `/team-management` accepts; null accepts any. Default null. */
  serviceKey: z.string().min(1).nullable().default(null),
  /** Whether requests without a key to `/search` and `/contents` get the 402 payment challenge; if false, they get a 401. Default false. */
  x402: z.boolean().default(false),
  /**
   * Credits of the team in dollars; null: no limit. Each purchase reduces them. `ledgerFile` keeps them across restarts.
   * Default null.
   */
  credits: ms.nullable().default(null),
  /** Maximum number of requests of all kinds in any second, a whole number; null: no limit. Default null. */
  qps: z.number().int().positive().nullable().default(null),
  /**
   * A rate limit instead of `qps`: `contract` (10 in all), `boost` (25 in all), `public` (a limit per endpoint), or a profile
   * of your own. Default null.
   */
  rate: rateSchema.nullable().default(null),
  /** Form of the `Retry-After` header when the rate limit answers 429. Default `none`. */
  retryAfter: z.enum(['none', 'seconds', 'http-date']).default('none'),
  /** Seconds in the `Retry-After` header. Default 1. */
  retryAfterSeconds: z.number().int().nonnegative().default(1),
  /**
   * Milliseconds before the work of a request is done and answered. A range gives a random value for each request. Default 0.
   */
  latencyMs: durationSchema.default(0),
  /** Share of URLs that fail. The hash of a URL decides whether it fails. Default 0.03. */
  failureRate: z.number().min(0).max(1).default(0.03),
  /** URLs that fail, each with the tag of its failure. Default: none. */
  failures: z.record(z.string(), z.string()).default({}),
  /**
   * Number of requests for which a URL with a transient failure (`CRAWL_TIMEOUT`, `CRAWL_UNKNOWN_ERROR`) fails before it succeeds; null: it
   * always fails. Default null.
   */
  transientFailures: z.number().int().nonnegative().nullable().default(null),
  /** Average number of characters of a page's text. Default 1000. */
  textBytes: z.number().int().min(1).max(5_000_000).default(1000),
  /** Faults, declared as data. Default none. */
  faults: faultsSchema.readonly().default([]),
  /**
   * File that keeps the purchase log and the state (runs, tasks, monitors) across restarts and SIGKILL; null keeps them in
   * memory. Default null.
   */
  ledgerFile: z.string().min(1).nullable().default(null),
  /** Number of requests that the log keeps. Default 200,000. */
  logEntries: z.number().int().positive().default(200_000),
  /** Prefix of the queue headers: `x-svc` as in the contract, `x-exa` as in the public service. Default `x-svc`. */
  headerPrefix: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/)
    .default('x-svc'),
  /** Speed of the clock of monitor schedules, as a factor of the wall clock: with 3600 an hour takes a second. Default 1. */
  monitorClock: z.number().positive().default(1),
  agentRuns: agentRunsSchema.prefault({}),
  research: researchSchema.prefault({}),
  monitors: monitorsSchema.prefault({}),
  events: eventsSchema.prefault({}),
});

/** Options of the sandbox. Every answer follows from the seed, the request and the order of requests. */
export type SandboxOptions = z.input<typeof optionsSchema>;

/** The options with all defaults. */
export type Settings = z.infer<typeof optionsSchema>;

/** Checks options and adds the defaults. Throws one error that names every mistake. */
export function parseOptions(options: Partial<SandboxOptions>): Settings {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw new Error(`sandbox options:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** The rate limit that the options select; null: no limit. */
export function rateOf({ rate, qps }: Pick<Settings, 'rate' | 'qps'>): RateProfile | null {
  if (rate !== null && qps !== null) throw new Error('sandbox options:\nqps and rate exclude each other');
  if (rate !== null) return typeof rate === 'string' ? (rateProfiles[rate] ?? null) : rate;
  return qps === null ? null : flatProfile(qps);
}
