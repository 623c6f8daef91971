import { z } from 'zod';
import { flatProfile, type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import { faultsSchema } from './fault.js';

const ms = z.number().nonnegative();
const share = z.number().min(0).max(1);
const count = z.number().int().positive();
const whole = z.number().int().nonnegative();
const text = z.string().min(1);
const header = z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/);

/** Milliseconds, or a range from which the seed chooses a value. */
const duration = z.union([
  ms,
  z.strictObject({ min: ms, max: ms }).refine(({ min, max }) => min <= max, 'min is above max'),
]);

/** The milliseconds of a duration. `fraction`: from 0 to 1, the position in a range. */
export function millisOf(range: z.infer<typeof duration>, fraction: number): number {
  return typeof range === 'number' ? range : Math.round(range.min + fraction * (range.max - range.min));
}

/**
 * Agent runs. A run is queued for `queuedMs` and ends `durationMs` after its creation. While `maxInProgress` runs are in progress, another one is
 * refused with 429. The share `failureRate` of all runs fails; the share `budgetRate` of the runs billed by usage uses up its budget; the shares
 * `unknownStatusRate` and `unknownStopReasonRate` end with an unknown value. A stream gets a comment every `keepAliveMs`. The header
 * `Last-Event-ID` is obeyed (`full`), refused with 400 (`refuse`) or ignored (`forget`).
 */
const agentRuns = z.strictObject({
  queuedMs: duration.default(0),
  durationMs: duration.default({ min: 500, max: 2000 }),
  maxInProgress: count.default(50),
  failureRate: share.default(0),
  budgetRate: share.default(0.05),
  unknownStatusRate: share.default(0),
  unknownStopReasonRate: share.default(0),
  progressEvents: z.number().int().min(0).max(1000).default(3),
  keepAliveMs: count.default(15_000),
  replay: z.enum(['full', 'refuse', 'forget']).default('full'),
});

/** Research tasks, as agent runs. */
const research = z.strictObject({
  durationMs: duration.default({ min: 500, max: 2000 }),
  maxInProgress: count.default(15),
  failureRate: share.default(0),
});

/**
 * Runs of monitors and their webhooks. The share `failureRate` of the runs fails, with `failReason` or a random reason. Each event is
 * delivered `webhookRepeat` times; a delivery has up to `webhookAttempts` attempts, `webhookRetryMs` apart.
 */
const monitors = z.strictObject({
  durationMs: duration.default({ min: 200, max: 800 }),
  failureRate: share.default(0),
  failReason: text.nullable().default(null),
  /** Header of the signature. */
  signatureHeader: header.default('Exa-Signature'),
  webhookAttempts: count.default(3),
  webhookRetryMs: ms.default(1000),
  webhookTimeoutMs: count.default(5000),
  webhookRepeat: count.default(1),
});

const instant = z.iso.datetime({ offset: true });

/**
 * The history of webset events: `count` events between `from` (30 days before `to`) and `to` (the start of the sandbox), in groups of
 * `sameTimestamp` with one timestamp. The share `late` of the events appears `lateMs` after its time. `arrivingPerSecond` new events arrive each
 * second. With `paging: offset`, new events shift the pages. A cursor is refused after `cursorTtlMs`.
 */
const events = z
  .strictObject({
    count: whole.max(100_000_000).default(1000),
    from: instant.optional(),
    to: instant.optional(),
    /** The list begins with the newest or the oldest events. */
    order: z.enum(['newest', 'oldest']).default('newest'),
    sameTimestamp: count.default(1),
    late: share.default(0),
    lateMs: duration.default({ min: 60_000, max: 3_600_000 }),
    arrivingPerSecond: ms.default(0),
    paging: z.enum(['position', 'offset']).default('position'),
    cursorTtlMs: count.nullable().default(null),
  })
  .refine(({ from, to }) => !from || !to || Date.parse(from) <= Date.parse(to), {
    path: ['from'],
    message: 'is after `to`',
  });

const bucket = z.strictObject({
  name: text,
  qps: z.number().positive(),
  classes: z.array(z.string()).readonly(),
  of: z.enum(['team', 'key']).default('team'),
});
const rate = z.union([
  z.enum(Object.keys(rateProfiles)),
  z.strictObject({ name: z.string().default('own'), buckets: z.array(bucket).min(1).readonly() }),
]);

const optionsSchema = z.strictObject({
  /** Port on 127.0.0.1; 0 selects a free one. Default 0. */
  port: z.number().int().min(0).max(65_535).default(0),
  /** Seed of every page, failure and random number. Default 1. */
  seed: z.number().int().default(1),
  /** API keys that are accepted; null accepts any. Default null. */
  keys: z.array(text).readonly().nullable().default(null),
  /** The service key that `/team-management` accepts; null accepts any. Default null. */
  serviceKey: text.nullable().default(null),
  /** Whether requests without a key to `/search` and `/contents` get the 402 payment challenge; if false, they get a 401. Default false. */
  x402: z.boolean().default(false),
  /** Credits of the team in dollars; null: no limit. Each purchase reduces them. Default null. */
  credits: ms.nullable().default(null),
  /** Maximum number of requests of all kinds in any second, a whole number; null: no limit. Default null. */
  qps: count.nullable().default(null),
  /** A rate limit instead of `qps`: `contract`, `boost`, `public`, or a profile of your own. Default null. */
  rate: rate.nullable().default(null),
  /** Form of the `Retry-After` header when the rate limit answers 429. Default `none`. */
  retryAfter: z.enum(['none', 'seconds', 'http-date']).default('none'),
  /** Seconds in the `Retry-After` header. Default 1. */
  retryAfterSeconds: whole.default(1),
  /** Milliseconds before the work of a request is done and answered. Default 0. */
  latencyMs: duration.default(0),
  /** Share of URLs that fail. The hash of a URL decides whether it fails. Default 0.03. */
  failureRate: share.default(0.03),
  /** URLs that fail, each with the tag of its failure. Default: none. */
  failures: z.record(z.string(), z.string()).default({}),
  /** Number of requests for which a URL with a transient failure fails before it succeeds; null: it always fails. Default null. */
  transientFailures: whole.nullable().default(null),
  /** Average number of characters of a page's text. Default 1000. */
  textBytes: z.number().int().min(1).max(5_000_000).default(1000),
  /** Faults, declared as data. Default none. */
  faults: faultsSchema.readonly().default([]),
  /** File that keeps purchases, credits and state across restarts and SIGKILL; null keeps them in memory. Default null. */
  ledgerFile: text.nullable().default(null),
  /** Number of requests that the log keeps. Default 200,000. */
  logEntries: count.default(200_000),
  /** Prefix of the queue headers: `x-svc` as in the contract, `x-exa` as in the public service. Default `x-svc`. */
  headerPrefix: header.default('x-svc'),
  /** Speed of the clock of monitor schedules, as a factor of the wall clock: with 3600 an hour takes a second. Default 1. */
  monitorClock: z.number().positive().default(1),
  agentRuns: agentRuns.prefault({}),
  research: research.prefault({}),
  monitors: monitors.prefault({}),
  events: events.prefault({}),
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
