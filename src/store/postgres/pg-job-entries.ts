import type { JobEntries, JobEntry, WalkEntry } from '../../core/job-entries.js';
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
    const entry = row ? (JSON.parse(row.entry) as Kept) : null;
    return entry && isJob(entry) ? entry : null;
  }

  put(entry: JobEntry): Promise<void> {
    return this.#put(entry.staged.job, entry);
  }

  async all(): Promise<readonly JobEntry[]> {
    return (await this.#all()).filter(isJob);
  }

  putWalk(walk: WalkEntry): Promise<void> {
    return this.#put(`${WALK}${walk.job}`, { walk });
  }

  async walks(): Promise<readonly WalkEntry[]> {
    return (await this.#all()).flatMap((entry) => (isJob(entry) ? [] : [entry.walk]));
  }

  async #put(job: string, entry: Kept): Promise<void> {
    await this.#postgres.query(
      `INSERT INTO ${this.#jobs} (job, entry) VALUES ($1, $2)
       ON CONFLICT (job) DO UPDATE SET entry = excluded.entry, touched_at = clock_timestamp()`,
      [job, JSON.stringify(entry)],
    );
  }

  async #all(): Promise<readonly Kept[]> {
    const rows = await this.#postgres.query<{ entry: string }>(
      `SELECT entry FROM ${this.#jobs} ORDER BY touched_at, job`,
    );
    return rows.map(({ entry }) => JSON.parse(entry) as Kept);
  }
}

/** What a row of the table holds. */
type Kept = JobEntry | { readonly walk: WalkEntry };

/** Before the id of a walk, which is no job's. */
const WALK = 'walk ';

function isJob(entry: Kept): entry is JobEntry {
  return 'staged' in entry;
}
