import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { StagedJob } from '../core/job.js';
import { UsageError } from './runtime-types.js';

/** What the folder remembers of a job between commands. Nothing in it is a truth of its own: it only leads to them. */
export interface JobEntry {
  readonly staged: StagedJob;
  /** The job's name was given by `--job`: then the name, not the path, is its identity. */
  readonly named: boolean;
  readonly csv: string | null;
  /** Generation whose rows were all loaded when its workflow ended; null before that. */
  readonly completed: string | null;
}

const entrySchema = z.object({
  staged: z.looseObject({
    job: z.string(),
    name: z.string(),
    input: z.string(),
    into: z.string(),
    generation: z.string(),
  }),
  named: z.boolean(),
  csv: z.string().nullable(),
  completed: z.string().nullable(),
});

/** The jobs of a folder: a small JSON file each. */
export class JobRegistry {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  get(job: string): JobEntry | null {
    const path = this.#path(job);
    if (!existsSync(path)) return null;
    const parsed = entrySchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    if (!parsed.success)
      throw new UsageError(`${path} is damaged; remove it and run the job's command again (nothing is bought twice)`);
    return parsed.data as unknown as JobEntry;
  }

  put(entry: JobEntry): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const path = this.#path(entry.staged.job);
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(entry, null, 2), { mode: 0o600 });
    renameSync(draft, path);
  }

  /** Longest untouched first. */
  all(): JobEntry[] {
    if (!existsSync(this.#dir)) return [];
    return readdirSync(this.#dir)
      .filter((file) => file.endsWith('.json'))
      .map((file) => ({ file, at: statSync(join(this.#dir, file)).mtimeMs }))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file)
      .map((file) => this.get(file.slice(0, -'.json'.length)))
      .filter((entry) => entry !== null);
  }

  /** By id, or by name where only one job has it. */
  find(job: string): JobEntry {
    const all = this.all();
    const found = all.filter((entry) => entry.staged.job === job || entry.staged.name === job);
    if (found.length === 1) return found[0] as JobEntry;
    const known = all.map((entry) => entry.staged.job);
    if (found.length > 1) {
      throw new UsageError(
        `More than one job is called ${job}: ${found.map((entry) => entry.staged.job).join(', ')}. Give one of these`,
      );
    }
    throw new UsageError(
      `There is no job ${job} in this folder${known.length > 0 ? `; there are ${known.join(', ')}` : ''}`,
    );
  }

  #path(job: string): string {
    if (!/^[\w.-]+$/.test(job) || job.startsWith('.')) throw new UsageError(`"${job}" can't be the id of a job`);
    return join(this.#dir, `${job}.json`);
  }
}
