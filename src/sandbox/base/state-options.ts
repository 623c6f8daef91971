import { z } from 'zod';

const ms = z.number().nonnegative();
const share = z.number().min(0).max(1);
const count = z.number().int().positive();

/** Milliseconds, or a range from which the seed chooses a value. */
export const durationSchema = z.union([
  ms,
  z.strictObject({ min: ms, max: ms }).refine(({ min, max }) => min <= max, 'min is above max'),
]);

/** Milliseconds, or a range from which the seed chooses a value. */
export type Duration = z.infer<typeof durationSchema>;

/** The milliseconds of a duration. `fraction`: from 0 to 1, the position in a range. */
export function millisOf(duration: Duration, fraction: number): number {
  return typeof duration === 'number' ? duration : Math.round(duration.min + fraction * (duration.max - duration.min));
}

export const agentRunsSchema = z.strictObject({
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
 * Behaviour of agent runs; defaults in parentheses. A run is queued for `queuedMs` (0) and ends `durationMs` (500 to 2000) after its
 * creation. While `maxInProgress` (50) runs are in progress, another one is refused with 429. The share `failureRate` (0) of all runs
 * fails; the share `budgetRate` (0.05) of the runs billed by usage uses up its budget. The shares `unknownStatusRate` (0) and
 * `unknownStopReasonRate` (0) end with an unknown value. A run has `progressEvents` (3); a stream gets a comment every `keepAliveMs`
 * (15,000). `replay` decides what happens to the header `Last-Event-ID`: the header is obeyed (`full`, the default), refused with 400
 * (`refuse`) or ignored (`forget`).
 */
export type AgentRunOptions = z.infer<typeof agentRunsSchema>;

export const researchSchema = z.strictObject({
  durationMs: durationSchema.default({ min: 500, max: 2000 }),
  maxInProgress: count.default(15),
  failureRate: share.default(0),
});

/**
 * Behaviour of research tasks; defaults in parentheses. A task takes `durationMs` (500 to 2000). While `maxInProgress` (15)
 * tasks are in progress, another one is refused with 429. The share `failureRate` (0) of the tasks fails.
 */
export type ResearchOptions = z.infer<typeof researchSchema>;

export const monitorsSchema = z.strictObject({
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

/**
 * Behaviour of monitor runs and their webhooks; defaults in parentheses. A run takes `durationMs` (200 to 800). The share
 * `failureRate` (0) of the runs fails, with `failReason` or a random reason. Deliveries have their signature in the header
 * `signatureHeader` (`Exa-Signature`). Each event is delivered `webhookRepeat` (1) times. A delivery has up to
 * `webhookAttempts` (3) attempts, `webhookRetryMs` (1000) apart; an attempt times out after `webhookTimeoutMs` (5000).
 */
export type MonitorOptions = z.infer<typeof monitorsSchema>;

const time = z.iso.datetime({ offset: true });

export const eventsSchema = z
  .strictObject({
    count: z.number().int().min(0).max(100_000_000).default(1000),
    from: time.optional(),
    to: time.optional(),
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

/**
 * The history of webset events; defaults in parentheses. `count` (1000) events lie between `from` (30 days before `to`) and
 * `to` (the start of the sandbox). Groups of `sameTimestamp` (1) events have the same timestamp. `order`: the list begins with
 * the `newest` (default) or the `oldest` events. The share `late` (0) of the events appears `lateMs` (a minute to an hour)
 * after its time. `arrivingPerSecond` (0) new events arrive each second. `paging`: with `offset`, new events shift the pages;
 * with `position` (default), they do not. A cursor is refused after `cursorTtlMs` (never).
 */
export type EventOptions = z.infer<typeof eventsSchema>;

/** Maximum wait of a Node timer, in milliseconds. */
const longest = 2 ** 31 - 1;

/** Waits that all end at once when the sandbox closes. */
export class Timers {
  readonly #waiting = new Map<NodeJS.Timeout, () => void>();
  readonly #closed = new AbortController();

  /** Whether the sandbox was closed. A caller that waited must then not continue its work. */
  get stopped(): boolean {
    return this.#closed.signal.aborted;
  }

  /** A signal that is aborted when the sandbox closes. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Waits for `ms` milliseconds, until `wake` is aborted, or until the sandbox closes. */
  async wait(ms: number, wake?: AbortSignal): Promise<void> {
    if (ms <= 0 || this.stopped || wake?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(timer);
        wake?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, longest));
      this.#waiting.set(timer, end);
      wake?.addEventListener('abort', end);
    });
  }

  stop(): void {
    this.#closed.abort();
    for (const end of [...this.#waiting.values()]) end();
  }
}
