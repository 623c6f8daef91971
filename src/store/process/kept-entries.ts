import { z } from 'zod';
import { fileFormats, publishModes, publishPartitions } from '../../core/choices.js';
import { UsageError } from '../../core/errors/coded-error.js';
import type { FailureLimit, Freshness, PublishOutcome, PublishStep, SchemaChange } from '../../core/row-job-schemas.js';
import type { StagedJob } from '../../core/rows/job.js';
import type { Allowed, JobEntry, JobState, OwnedWork, WalkEntry } from '../../core/rows/job-entries.js';
import { ID_PATTERN, pauseReasons } from '../../core/rows/job-names.js';
import { isFailureLimit } from '../../core/rows/stop-at-failed.js';

const [text, number, flag] = [z.string(), z.number(), z.boolean()];
const count = z.int().nonnegative();
/** Unix ms of a time that a `Date` can have. */
const time = z.int().min(0).max(8.64e15);

const staged = z.looseObject({
  job: text.regex(ID_PATTERN),
  ...{ name: text, origin: text, operation: text, input: text, into: text, generation: text, stageDir: text },
  columns: z.array(text),
  types: z.array(text).optional(),
  ...{ format: z.enum(fileFormats).optional(), sql: text.optional(), table: text.optional() },
  unitColumn: text.nullable(),
  key: z.array(text).optional(),
  options: z.record(text, z.unknown()),
  ...{ rows: count, badRows: count, distinctUnits: count, slices: count, rowsPerSlice: count, window: count },
  batch: count,
  defaultScheme: z.enum(['http', 'https']).optional(),
  csvForm: z.object({ delimiter: text, bom: flag }).optional(),
  ...{ rowsPerRun: count.optional(), limit: count.optional(), host: text.optional() },
  ...{ beta: z.array(text).optional(), unchecked: flag.optional() },
  extraHeaders: z.record(text, text).optional(),
} satisfies { readonly [Field in Exclude<keyof StagedJob, 'template'>]: z.ZodType });

const schemaChange = z.object({
  of: z.enum(['input', 'output']),
  ...{ name: text, change: z.enum(['added', 'removed', 'type']), from: text.optional(), to: text.optional() },
} satisfies { readonly [Field in keyof SchemaChange]-?: z.ZodType });

const published = z.object({
  ...{ to: text, error: text.nullable(), publish: text.nullable(), rows: count, changed: flag },
} satisfies { readonly [Field in keyof PublishOutcome]-?: z.ZodType });

/** Recorded counts that cannot be read are dropped, and the rows are counted again. */
const counts = z
  .object({
    ...{ rows: count, success: count, error: count, invalid: count, missing: count, vanished: count },
    tags: z.record(text, count),
    misfits: z.record(text, count).optional(),
    discarded: count.optional(),
    schemaChanges: z.array(schemaChange).optional(),
    published: published.optional(),
    view: text.optional(),
  })
  .optional()
  .catch(undefined);

const state = z.looseObject({
  phase: z.enum(['running', 'paused', 'done', 'stopped', 'failed', 'cancelled']),
  reason: z.enum(pauseReasons).optional(),
  message: text.optional(),
  since: time,
  cancelRequested: z.literal(true).optional(),
  counts,
  run: z
    .object({ requests: count, costMicros: number, estimateMicros: number, seconds: number })
    .optional()
    .catch(undefined),
} satisfies { readonly [Field in keyof JobState]-?: z.ZodType });

const asked = z.looseObject({
  maxCostDollars: z.union([number, z.literal('none')]).optional(),
  maxRunSeconds: number.optional(),
  redrive: flag.optional(),
  skipRefused: flag.optional(),
  stopAtFailed: z.custom<FailureLimit>(isFailureLimit).optional(),
  acceptWarnings: z.array(text).optional(),
  publish: z
    .object({
      to: text,
      mode: z.enum(publishModes).optional(),
      key: z.array(text).optional(),
      partition: z.enum(publishPartitions).optional(),
    } satisfies { readonly [Field in keyof PublishStep]-?: z.ZodType })
    .optional(),
  freshness: z
    .looseObject({
      freshAfter: number.optional(),
      retryTags: z.array(text).optional(),
      retryBefore: number.optional(),
      rebuyBefore: number.optional(),
    } satisfies { readonly [Field in keyof Freshness]-?: z.ZodType })
    .optional(),
} satisfies { readonly [Field in keyof JobEntry['asked']]-?: z.ZodType });

const job = z.object({
  staged,
  named: flag,
  csv: text.nullable(),
  completed: text.nullable(),
  earlier: z.array(z.object({ staged, csv: text.nullable() })).optional(),
  workflowId: text.optional(),
  schedule: text.optional(),
  opened: z.object({ run: text, beforeMicros: number }).optional(),
  asked,
  state,
} satisfies { readonly [Field in keyof JobEntry]-?: z.ZodType });

const walk = z.looseObject({
  ...{ job: text, workflowId: text, origin: text, stream: text, into: text },
  host: text.optional(),
} satisfies { readonly [Field in keyof WalkEntry]-?: z.ZodType });

const owned = z.object({
  workflowId: text,
  job: text,
  owners: z.array(z.object({ id: text, host: text, pid: number })),
});

const allowed = z.array(z.object({ field: text, what: text, host: text.nullable() }));

/** An entry cannot be read. Its job or walk is left alone; all other entries are listed. */
export class EntryDamaged extends UsageError {
  constructor(message: string) {
    super('state-damaged', message);
  }
}

/** Parses the entries of jobs and walks; reports each damaged entry once. */
export class KeptEntries {
  readonly #say: (sentence: string) => void;
  readonly #reported = new Set<string>();

  constructor(say: (sentence: string) => void) {
    this.#say = say;
  }

  /** Parses the entry of a job. `name` names the entry, `remedy` says how to remove it. Throws `EntryDamaged`. */
  job(read: () => string, name: string, remedy: string): JobEntry {
    return parsed(
      job,
      read,
      `${name} is damaged. ${remedy} and run the job's command again (nothing is bought twice).`,
    );
  }

  /** Parses the entry of a walk; see `job`. */
  walk(read: () => string, name: string, remedy: string): WalkEntry {
    return parsed(walk, read, `${name} is damaged. ${remedy}; the next run of its events command writes it again.`);
  }

  /**
   * Returns the owners of work; null if the entry cannot be read. The work then has no owner, and the next claim writes the entry again.
   */
  owned(read: () => string): OwnedWork | null {
    try {
      return parsed(owned, read, '');
    } catch {
      return null;
    }
  }

  /** Returns the recorded names; no names if the text cannot be read. Commands write the names again. */
  allowed(text: string): readonly Allowed[] {
    try {
      return parsed(allowed, () => text, '');
    } catch {
      return [];
    }
  }

  /** Returns the result of `read`; null for a damaged entry, which is reported once. */
  unlessDamaged<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof EntryDamaged)) throw error;
      if (!this.#reported.has(error.message)) this.#say(error.message);
      this.#reported.add(error.message);
      return null;
    }
  }
}

function parsed<T>(schema: z.ZodType, read: () => string, damaged: string): T {
  try {
    return schema.parse(JSON.parse(read())) as T;
  } catch {
    throw new EntryDamaged(damaged);
  }
}
