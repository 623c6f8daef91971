import { z } from 'zod';
import { UsageError } from '../../core/processes/exit-codes.js';
import type { Allowed, JobEntry, OwnedWork, WalkEntry } from '../../core/rows/job-entries.js';

const staged = z.looseObject({
  job: z.string(),
  name: z.string(),
  input: z.string(),
  into: z.string(),
  generation: z.string(),
});

const number = z.number();
/** Recorded counts that cannot be read are dropped, and the rows are counted again. */
const counts = z
  .object({
    ...{ rows: number, success: number, error: number, invalid: number, missing: number, vanished: number },
    tags: z.record(z.string(), number),
  })
  .optional()
  .catch(undefined);

const job = z.object({
  staged,
  named: z.boolean(),
  csv: z.string().nullable(),
  completed: z.string().nullable(),
  earlier: z.array(z.object({ staged, csv: z.string().nullable() })).optional(),
  workflowId: z.string().optional(),
  asked: z.looseObject({}).optional(),
  state: z.looseObject({ phase: z.string(), since: z.number(), counts }).optional(),
});

const walk = z.looseObject({
  job: z.string(),
  workflowId: z.string(),
  origin: z.string(),
  stream: z.string(),
  into: z.string(),
});

const owned = z.object({
  workflowId: z.string(),
  job: z.string(),
  owners: z.array(z.object({ id: z.string(), host: z.string(), pid: z.number() })),
});

const allowed = z.array(z.object({ field: z.string(), what: z.string(), host: z.string().nullable() }));

/** An entry cannot be read. Its job or walk is left alone; all other entries are listed. */
export class EntryDamaged extends UsageError {}

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
