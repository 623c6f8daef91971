import { z } from 'zod';
import { UsageError } from '../../core/rows/exit-codes.js';
import type { Allowed, JobEntry, OwnedWork, WalkEntry } from '../../core/rows/job-entries.js';

const staged = z.looseObject({
  job: z.string(),
  name: z.string(),
  input: z.string(),
  into: z.string(),
  generation: z.string(),
});

const job = z.object({
  staged,
  named: z.boolean(),
  csv: z.string().nullable(),
  completed: z.string().nullable(),
  earlier: z.array(z.object({ staged, csv: z.string().nullable() })).optional(),
  workflowId: z.string().optional(),
  asked: z.looseObject({}).optional(),
  state: z.looseObject({ phase: z.string(), since: z.number() }).optional(),
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

/** An entry that can't be read. Its job or walk is left alone, the others are listed. */
export class EntryDamaged extends UsageError {}

/** Reads what is remembered of jobs and walks, wherever it is kept; names each damaged entry once. */
export class KeptEntries {
  readonly #say: (sentence: string) => void;
  readonly #reported = new Set<string>();

  constructor(say: (sentence: string) => void) {
    this.#say = say;
  }

  /** `place` names the entry, `way` says how to remove it. Throws `EntryDamaged`. */
  job(read: () => string, place: string, way: string): JobEntry {
    return parsed(job, read, `${place} is damaged. ${way} and run the job's command again (nothing is bought twice).`);
  }

  walk(read: () => string, place: string, way: string): WalkEntry {
    return parsed(walk, read, `${place} is damaged. ${way}; the next run of its events command writes it again.`);
  }

  /** Null for what can't be read: the work then has no owner, and the next claim writes it again. */
  owned(read: () => string): OwnedWork | null {
    try {
      return parsed(owned, read, '');
    } catch {
      return null;
    }
  }

  /** Nothing where it can't be read: the commands that name these things write it again. */
  allowed(text: string): readonly Allowed[] {
    try {
      return parsed(allowed, () => text, '');
    } catch {
      return [];
    }
  }

  /** What `read` answers; null for a damaged entry, which is named once. */
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
