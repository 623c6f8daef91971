import { z } from 'zod';
import { flatProfile, type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import {
  type AgentRunOptions,
  agentRunsSchema,
  durationSchema,
  type EventOptions,
  eventsSchema,
  type MonitorOptions,
  monitorsSchema,
  type ResearchOptions,
  researchSchema,
} from '../base/state-options.js';
import { type Fault, faultsSchema } from './fault.js';

export { type Fault, type FaultDo, type FaultWhen, parseFault } from './fault.js';

/** Options of the sandbox. Every answer follows from the seed, the request and the order of requests. */
export interface SandboxOptions {
  /** Port on 127.0.0.1; 0 selects a free one. Default 0. */
  readonly port: number;
  /** Seed of every page, failure and random number. Default 1. */
  readonly seed: number;
  /** API keys that are accepted; null accepts any. Default null. */
  readonly keys: readonly string[] | null;
  /** The service key that `/team-management` accepts; null accepts any. Default null. */
  readonly serviceKey: string | null;
  /** Whether requests without a key to `/search` and `/contents` get the 402 payment challenge; if false, they get a 401. Default false. */
  readonly x402: boolean;
  /**
   * Credits of the team in dollars; null: no limit. Each purchase reduces them. `ledgerFile` keeps them across restarts.
   * Default null.
   */
  readonly credits: number | null;
  /** Maximum number of requests of all kinds in any second, a whole number; null: no limit. Default null. */
  readonly qps: number | null;
  /**
   * A rate limit instead of `qps`: `contract` (10 in all), `boost` (25 in all), `public` (a limit per endpoint), or a profile
   * of your own. Default null.
   */
  readonly rate: string | RateProfile | null;
  /** Form of the `Retry-After` header when the rate limit answers 429. Default `none`. */
  readonly retryAfter: 'none' | 'seconds' | 'http-date';
  /** Seconds in the `Retry-After` header. Default 1. */
  readonly retryAfterSeconds: number;
  /**
   * Milliseconds before the work of a request is done and answered. A range gives a random value for each request. Default 0.
   */
  readonly latencyMs: number | { readonly min: number; readonly max: number };
  /** Share of URLs that fail. The hash of a URL decides whether it fails. Default 0.03. */
  readonly failureRate: number;
  /** URLs that fail, each with the tag of its failure. Default: none. */
  readonly failures: Readonly<Record<string, string>>;
  /**
   * Number of requests for which a URL with a transient failure (`CRAWL_TIMEOUT`, `CRAWL_UNKNOWN_ERROR`) fails before it succeeds; null: it
   * always fails. Default null.
   */
  readonly transientFailures: number | null;
  /** Average number of characters of a page's text. Default 1000. */
  readonly textBytes: number;
  /** Faults, declared as data. Default none. */
  readonly faults: readonly Fault[];
  /**
   * File that keeps the purchase log and the state (runs, tasks, monitors) across restarts and SIGKILL; null keeps them in
   * memory. Default null.
   */
  readonly ledgerFile: string | null;
  /** Number of requests that the log keeps. Default 200,000. */
  readonly logEntries: number;
  /** Prefix of the queue headers: `x-svc` as in the contract, `x-exa` as in the public service. Default `x-svc`. */
  readonly headerPrefix: string;
  /** Speed of the clock of monitor schedules, as a factor of the wall clock: with 3600 an hour takes a second. Default 1. */
  readonly monitorClock: number;
  readonly agentRuns: Partial<AgentRunOptions>;
  readonly research: Partial<ResearchOptions>;
  readonly monitors: Partial<MonitorOptions>;
  readonly events: Partial<EventOptions>;
}

/** The options with all defaults. */
export interface Settings extends SandboxOptions {
  readonly agentRuns: AgentRunOptions;
  readonly research: ResearchOptions;
  readonly monitors: MonitorOptions;
  readonly events: EventOptions;
}

const nonNegative = z.number().nonnegative();

const rateSchema = z.union([
  z.enum(Object.keys(rateProfiles)),
  z.strictObject({
    name: z.string().default('own'),
    buckets: z
      .array(
        z.strictObject({
          name: z.string().min(1),
          qps: z.number().positive(),
          classes: z.array(z.string()),
          of: z.enum(['team', 'key']).default('team'),
        }),
      )
      .min(1),
  }),
]);

const optionsSchema = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(0),
  seed: z.number().int().default(1),
  keys: z.array(z.string().min(1)).readonly().nullable().default(null),
  serviceKey: z.string().min(1).nullable().default(null),
  x402: z.boolean().default(false),
  credits: nonNegative.nullable().default(null),
  qps: z.number().int().positive().nullable().default(null),
  rate: rateSchema.nullable().default(null),
  retryAfter: z.enum(['none', 'seconds', 'http-date']).default('none'),
  retryAfterSeconds: z.number().int().nonnegative().default(1),
  latencyMs: durationSchema.default(0),
  failureRate: z.number().min(0).max(1).default(0.03),
  failures: z.record(z.string(), z.string()).default({}),
  transientFailures: z.number().int().nonnegative().nullable().default(null),
  textBytes: z.number().int().min(1).max(5_000_000).default(1000),
  faults: faultsSchema.default([]),
  ledgerFile: z.string().min(1).nullable().default(null),
  logEntries: z.number().int().positive().default(200_000),
  headerPrefix: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/)
    .default('x-svc'),
  monitorClock: z.number().positive().default(1),
  agentRuns: agentRunsSchema.prefault({}),
  research: researchSchema.prefault({}),
  monitors: monitorsSchema.prefault({}),
  events: eventsSchema.prefault({}),
});

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
