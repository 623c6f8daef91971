import type { Allowed, JobEntry, Owner, WalkEntry } from '../../core/job-entry-schemas.js';
import { isUnfinished, type JobEntries, type OwnerChange, type OwnerFacts } from '../../core/rows/job-entries.js';
import { identifier, type Postgres } from '../../postgres/index.js';
import { KeptEntries, OwnerLocks } from '../process/kept-entries.js';

/** The job entries of a store, for all commands that use the store, from any folder. */
export class PgJobEntries implements JobEntries {
  readonly #postgres: Postgres;
  readonly #jobs: string;
  readonly #walks: string;
  readonly #schema: string;
  readonly #locks: OwnerLocks;
  readonly #kept: KeptEntries;

  /** `locksDir`: folder with the locks of owners on this machine. `say` is called for each damaged entry, which is left out. */
  constructor(postgres: Postgres, locksDir: string, say: (sentence: string) => void = () => undefined) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#jobs = `${this.#schema}.jobs`;
    this.#walks = `${this.#schema}.walks`;
    this.#locks = new OwnerLocks(locksDir);
    this.#kept = new KeptEntries(say);
  }

  async get(job: string): Promise<JobEntry | null> {
    return this.#get(job, this.#postgres);
  }

  async #get(job: string, db: Pick<Postgres, 'query'>): Promise<JobEntry | null> {
    const [row] = await db.query<Row>(`SELECT job, entry FROM ${this.#jobs} WHERE job = $1`, [job]);
    return row ? this.#job(row) : null;
  }

  put(entry: JobEntry): Promise<void> {
    return this.#put(this.#jobs, entry.staged.job, entry);
  }

  async all(): Promise<readonly JobEntry[]> {
    return this.#jobsOf(this.#postgres);
  }

  async unfinished(): Promise<readonly JobEntry[]> {
    // The database compares texts, because a damaged entry is no JSON. Only the few entries that match are parsed.
    const like = `WHERE entry LIKE '%"phase":"paused"%' OR entry LIKE '%"phase":"running"%'`;
    return (await this.#jobsOf(this.#postgres, like)).filter(isUnfinished);
  }

  putWalk(walk: WalkEntry): Promise<void> {
    return this.#put(this.#walks, walk.job, walk);
  }

  async walks(): Promise<readonly WalkEntry[]> {
    const rows = await this.#rows(this.#walks, this.#postgres);
    return rows
      .map((row) => this.#kept.unlessDamaged(() => this.#kept.walk(() => row.entry, ...named(this.#walks, row))))
      .filter((walk) => walk !== null);
  }

  claim<C extends OwnerChange>(workflowId: string, decide: (claim: OwnerFacts) => C): Promise<C> {
    const table = `${this.#schema}.owned_work`;
    return this.#postgres.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`${this.#schema} claims`]);
      const [row] = await tx.query<{ owned: string }>(`SELECT owned FROM ${table} WHERE workflow_id = $1`, [
        workflowId,
      ]);
      const jobs = await this.#jobsOf(tx);
      const owned = row ? this.#kept.owned(() => row.owned) : null;
      const claimed = decide({ owned, jobs, lives: await this.#living(tx) });
      const { entry } = claimed;
      // A damaged entry throws here, because only a person may remove it.
      if (entry?.now) await this.#get(entry.job, tx);
      if (entry?.now) await this.#put(this.#jobs, entry.job, entry.now, tx);
      else if (entry) await tx.query(`DELETE FROM ${this.#jobs} WHERE job = $1`, [entry.job]);
      await tx.query(`DELETE FROM ${table} WHERE workflow_id = $1`, [workflowId]);
      if (claimed.owned !== null)
        await tx.query(`INSERT INTO ${table} VALUES ($1, $2)`, [workflowId, JSON.stringify(claimed.owned)]);
      return claimed;
    });
  }

  async allow(named: readonly Allowed[]): Promise<void> {
    for (const { field, what, host } of named)
      await this.#postgres.query(
        `INSERT INTO ${this.#schema}.allowed (field, what, host) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
        [field, what, host ?? ''],
      );
  }

  async allowed(): Promise<readonly Allowed[]> {
    const rows = await this.#postgres.query<{ field: string; what: string; host: string }>(
      `SELECT field, what, host FROM ${this.#schema}.allowed`,
    );
    return rows.map(({ host, ...named }) => ({ ...named, host: host === '' ? null : host }));
  }

  async owned() {
    const rows = await this.#postgres.query<{ owned: string }>(`SELECT owned FROM ${this.#schema}.owned_work`);
    if (rows.length === 0) return [];
    const lives = await this.#living(this.#postgres);
    const all = rows.map(({ owned }) => this.#kept.owned(() => owned)).filter((one) => one !== null);
    return all.map((one) => ({ ...one, living: one.owners.filter(lives) }));
  }

  owner(): Owner {
    return this.#locks.owner();
  }

  close(): void {
    this.#locks.close();
  }

  /** Checks owners by their locks if the locks are on this machine, else by the heartbeats of their processes. */
  async #living(db: Pick<Postgres, 'query'>): Promise<(owner: Owner) => boolean> {
    const rows = await db.query<{ host: string; pid: number }>(
      `SELECT host, pid FROM ${this.#schema}.processes
       WHERE clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) <= dead_after`,
    );
    const alive = new Set(rows.map(({ host, pid }) => `${pid} ${host}`));
    return (owner) => this.#locks.lives(owner) ?? alive.has(`${owner.pid} ${owner.host}`);
  }

  async #put(table: string, job: string, entry: object, db: Pick<Postgres, 'query'> = this.#postgres): Promise<void> {
    await db.query(
      `INSERT INTO ${table} (job, entry) VALUES ($1, $2)
       ON CONFLICT (job) DO UPDATE SET entry = excluded.entry, touched_at = clock_timestamp()`,
      [job, JSON.stringify(entry)],
    );
  }

  #rows(table: string, db: Pick<Postgres, 'query'>, where = ''): Promise<readonly Row[]> {
    return db.query<Row>(`SELECT job, entry FROM ${table} ${where} ORDER BY touched_at, job`);
  }

  async #jobsOf(db: Pick<Postgres, 'query'>, where?: string): Promise<readonly JobEntry[]> {
    const rows = await this.#rows(this.#jobs, db, where);
    return rows.map((row) => this.#kept.unlessDamaged(() => this.#job(row))).filter((entry) => entry !== null);
  }

  #job(row: Row): JobEntry {
    return this.#kept.job(() => row.entry, ...named(this.#jobs, row));
  }
}

interface Row {
  readonly job: string;
  readonly entry: string;
}

/** The name of an entry for people, and how to remove it. */
function named(table: string, { job }: Row): [name: string, remedy: string] {
  const remedy = `Remove it (DELETE FROM ${table} WHERE job = '${job.replaceAll("'", "''")}')`;
  return [`The entry ${job} in ${table}`, remedy];
}
