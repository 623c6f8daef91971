import { identifier, type Postgres } from '../../../src/postgres/index.js';
import { PgJournal } from '../../../src/store/postgres/journal/pg-journal.js';
import { connectStore } from '../../../src/store/postgres/schema/store-schema.js';
import { sharedPostgres } from '../postgres.js';

/** Stores for tests: each is a schema in one database on the run's PostgreSQL. */
export interface PgStores {
  /** The address of a new store. */
  url(): string;
  /** Opens connections to a store, as another process would. */
  connect(url: string): Promise<Postgres>;
  /** A journal with connections of its own. */
  journal(url: string, team?: string): Promise<{ readonly journal: PgJournal; readonly postgres: Postgres }>;
  /** Closes the connections of a journal without a shutdown, and makes its process look dead. */
  bury(opened: { readonly postgres: Postgres }): Promise<void>;
  stop(): Promise<void>;
}

export async function startPgStores(): Promise<PgStores> {
  const base = await sharedPostgres().database('store');
  let stores = 0;
  const open = new Set<Postgres>();
  const journals = new Map<Postgres, PgJournal>();
  const connect = async (url: string): Promise<Postgres> => {
    const postgres = await connectStore(url, { applicationName: 'test', patienceMs: 20_000, max: 4 });
    open.add(postgres);
    return postgres;
  };
  return {
    url() {
      const address = new URL(base);
      address.searchParams.set('schema', `store "${++stores}`);
      return address.href;
    },
    connect,
    async journal(url, team = 'team') {
      const postgres = await connect(url);
      const journal = await PgJournal.open(postgres, { team });
      journals.set(postgres, journal);
      return { journal, postgres };
    },
    async bury({ postgres }) {
      await takeAllForDead(postgres);
      open.delete(postgres);
      journals.delete(postgres);
      await postgres.close();
    },
    async stop() {
      for (const journal of journals.values()) await journal.close();
      for (const postgres of open) await postgres.close();
    },
  };
}

/** Makes every process of the store look dead, and declares all of them dead, as a living process would. */
export async function takeAllForDead(postgres: Postgres): Promise<void> {
  const schema = identifier(postgres.address.schema);
  await postgres.query(`UPDATE ${schema}.processes SET seen_at = '-infinity', dead_after = '0'`);
  await postgres.query(`SELECT ${schema}.end_processes(ARRAY(SELECT id FROM ${schema}.processes))`);
}
