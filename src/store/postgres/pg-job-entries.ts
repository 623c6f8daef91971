import type { JobEntries, JobEntry } from '../../core/job-entries.js';
import { identifier, type Postgres } from '../../postgres/index.js';

/** The jobs of a store, for every command that uses it, from whatever folder. */
export class PgJobEntries implements JobEntries {
  readonly #postgres: Postgres;
  readonly #jobs: string;

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
    this.#jobs = `${identifier(postgres.address.schema)}.jobs`;
  }

  async get(job: string): Promise<JobEntry | null> {
    const [row] = await this.#postgres.query<{ entry: string }>(`SELECT entry FROM ${this.#jobs} WHERE job = $1`, [
      job,
    ]);
    return row ? (JSON.parse(row.entry) as JobEntry) : null;
  }

  async put(entry: JobEntry): Promise<void> {
    await this.#postgres.query(
      `INSERT INTO ${this.#jobs} (job, entry) VALUES ($1, $2)
       ON CONFLICT (job) DO UPDATE SET entry = excluded.entry, touched_at = clock_timestamp()`,
      [entry.staged.job, JSON.stringify(entry)],
    );
  }

  async all(): Promise<readonly JobEntry[]> {
    const rows = await this.#postgres.query<{ entry: string }>(
      `SELECT entry FROM ${this.#jobs} ORDER BY touched_at, job`,
    );
    return rows.map(({ entry }) => JSON.parse(entry) as JobEntry);
  }
}
