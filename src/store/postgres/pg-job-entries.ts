import type { Claim, Claimed, JobEntries, JobEntry, OwnedWork, Owner, WalkEntry } from '../../core/job-entries.js';
import { identifier, type Postgres } from '../../postgres/index.js';
import { OwnerLocks } from '../owner-locks.js';

/** The jobs of a store, for every command that uses it, from whatever folder. */
export class PgJobEntries implements JobEntries {
  readonly #postgres: Postgres;
  readonly #jobs: string;
  readonly #schema: string;
  readonly #locks: OwnerLocks;

  /** `locksDir`: where the processes of this machine have their locks as owners. */
  constructor(postgres: Postgres, locksDir: string) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#jobs = `${this.#schema}.jobs`;
    this.#locks = new OwnerLocks(locksDir);
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

  claim<C extends Claimed>(workflowId: string, decide: (claim: Claim) => C): Promise<C> {
    const table = `${this.#schema}.owned_work`;
    return this.#postgres.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`${this.#schema} claims`]);
      const [row] = await tx.query<{ owned: string }>(`SELECT owned FROM ${table} WHERE workflow_id = $1`, [
        workflowId,
      ]);
      const jobs = (await this.#all(tx)).filter(isJob);
      const claimed = decide({ owned: row ? toOwned(row) : null, jobs, lives: await this.#living(tx) });
      const { entry } = claimed;
      if (entry?.now) await this.#put(entry.job, entry.now, tx);
      else if (entry) await tx.query(`DELETE FROM ${this.#jobs} WHERE job = $1`, [entry.job]);
      await tx.query(`DELETE FROM ${table} WHERE workflow_id = $1`, [workflowId]);
      if (claimed.owned !== null)
        await tx.query(`INSERT INTO ${table} VALUES ($1, $2)`, [workflowId, JSON.stringify(claimed.owned)]);
      return claimed;
    });
  }

  async owned() {
    const rows = await this.#postgres.query<{ owned: string }>(`SELECT owned FROM ${this.#schema}.owned_work`);
    if (rows.length === 0) return [];
    const lives = await this.#living(this.#postgres);
    return rows.map(toOwned).map((one) => ({ ...one, living: one.owners.filter(lives) }));
  }

  owner(): Owner {
    return this.#locks.owner();
  }

  close(): void {
    this.#locks.close();
  }

  /** By its lock where that is on this machine, else by the register of processes, as long as that hears of it. */
  async #living(db: Pick<Postgres, 'query'>): Promise<(owner: Owner) => boolean> {
    const rows = await db.query<{ host: string; pid: number }>(
      `SELECT host, pid FROM ${this.#schema}.processes
       WHERE clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) <= dead_after`,
    );
    const heard = new Set(rows.map(({ host, pid }) => `${pid} ${host}`));
    return (owner) => this.#locks.lives(owner) ?? heard.has(`${owner.pid} ${owner.host}`);
  }

  async #put(job: string, entry: Kept, db: Pick<Postgres, 'query'> = this.#postgres): Promise<void> {
    await db.query(
      `INSERT INTO ${this.#jobs} (job, entry) VALUES ($1, $2)
       ON CONFLICT (job) DO UPDATE SET entry = excluded.entry, touched_at = clock_timestamp()`,
      [job, JSON.stringify(entry)],
    );
  }

  async #all(db: Pick<Postgres, 'query'> = this.#postgres): Promise<readonly Kept[]> {
    const rows = await db.query<{ entry: string }>(`SELECT entry FROM ${this.#jobs} ORDER BY touched_at, job`);
    return rows.map(({ entry }) => JSON.parse(entry) as Kept);
  }
}

const toOwned = ({ owned }: { readonly owned: string }) => JSON.parse(owned) as OwnedWork;

/** What a row of the table holds. */
type Kept = JobEntry | { readonly walk: WalkEntry };

/** Before the id of a walk, which is no job's. */
const WALK = 'walk ';

function isJob(entry: Kept): entry is JobEntry {
  return 'staged' in entry;
}
