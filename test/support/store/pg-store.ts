import { randomBytes } from 'node:crypto';
import { identifier, type Postgres } from '../../../src/postgres/index.js';
import { openStore } from '../../../src/store/postgres/open-store.js';
import { PgJournal } from '../../../src/store/postgres/pg-journal.js';
import { type PostgresServer, startPostgres } from '../postgres-server.mjs';

/** Stores for tests: a schema each, in a database of `TEST_POSTGRES_URL` or of a server of our own. */
export interface PgStores {
  /** The address of a new store. */
  url(): string;
  /** Connects, as a process of its own would. */
  connect(url: string): Promise<Postgres>;
  /** A journal with connections of its own. */
  journal(url: string, team?: string): Promise<{ readonly journal: PgJournal; readonly postgres: Postgres }>;
  /** Takes a journal's connections away without a word, and makes its process look dead for long. */
  bury(opened: { readonly postgres: Postgres }): Promise<void>;
  stop(): Promise<void>;
}

export async function startPgStores(): Promise<PgStores> {
  const own: PostgresServer | null = process.env.TEST_POSTGRES_URL ? null : await startPostgres();
  const base = own ? await own.database() : (process.env.TEST_POSTGRES_URL as string);
  const run = randomBytes(4).toString('hex');
  let stores = 0;
  const urls: string[] = [];
  const open = new Set<Postgres>();
  const journals = new Map<Postgres, PgJournal>();
  const connect = async (url: string): Promise<Postgres> => {
    const postgres = await openStore(url, { applicationName: 'test', patienceMs: 20_000, max: 4 });
    open.add(postgres);
    return postgres;
  };
  return {
    url() {
      const address = new URL(base);
      address.searchParams.set('schema', `store "${run} ${++stores}`);
      urls.push(address.href);
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
      await postgres.query(
        `UPDATE ${identifier(postgres.address.schema)}.processes SET seen_at = '-infinity', dead_after = '0'`,
      );
      open.delete(postgres);
      journals.delete(postgres);
      await postgres.close();
    },
    async stop() {
      for (const journal of journals.values()) await journal.close();
      if (!own) {
        const cleaner = [...open][0];
        for (const url of cleaner ? urls : []) {
          const schema = new URL(url).searchParams.get('schema') as string;
          await cleaner?.query(`DROP SCHEMA IF EXISTS ${identifier(schema)} CASCADE`);
        }
      }
      for (const postgres of open) await postgres.close();
      await own?.stop();
    },
  };
}
