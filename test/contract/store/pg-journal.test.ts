import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { identifier } from '../../../src/postgres/index.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { historyContract } from '../../support/store/history-contract.js';
import { journalContract } from '../../support/store/journal-contract.js';
import { startPgStores } from '../../support/store/pg-store.js';
import { spendContract } from '../../support/store/spend-contract.js';

const root = folderOfFile();
const stores = ofFile(startPgStores);

/** A journal of a new store, and a function that opens it again once its process is dead. */
async function mortal() {
  const url = stores.url();
  let last = await stores.journal(url);
  const reopen = async (team?: string) => {
    await stores.bury(last);
    last = await stores.journal(url, team);
    return last.journal;
  };
  return { journal: last.journal, reopen };
}

let count = 0;

journalContract('PgJournal', async () => ({ ...(await mortal()), scratch: join(root, `${++count}.jsonl`) }));

spendContract('PgJournal', async () => {
  const { journal, reopen } = await mortal();
  return { journal: journal, reopen };
});

historyContract('PgJournal', mortal);

it('functions of the store do not resolve names by the search path of the session', async () => {
  const postgres = await stores.connect(stores.url());
  const rows = await postgres.query<{ name: string; config: string[] | null }>(
    'SELECT proname AS name, proconfig AS config FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY 1',
    [identifier(postgres.address.schema)],
  );
  expect(rows.length).toBeGreaterThan(30);
  const open = rows.filter(({ config }) => !config?.includes('search_path=pg_catalog, pg_temp'));
  expect(open.map(({ name }) => name)).toEqual([]);
});

it('a store keeps the text that came instead of an answer', async () => {
  const { journal, postgres } = await stores.journal(stores.url());
  const schema = identifier(postgres.address.schema);
  const lose = async (key: string, close: (id: string) => Promise<unknown>) => {
    await journal.claim([key], 'owner');
    const intent = { owner: 'owner', segment: 'job/gen/0', operation: 'contents', keys: [key], estimateMicros: 1 };
    await close(await journal.intend({ ...intent, deadline: Date.now() + 1000 }));
  };
  const page = '<html>Sign in\0</html>';
  await lose('a'.repeat(32), (id) => journal.miss(id, 'not JSON', 'maybe', { body: page }));
  await lose('b'.repeat(32), (id) => journal.miss(id, 'gone', 'maybe'));
  const rows = await postgres.query(`SELECT state, reason, came FROM ${schema}.purchases ORDER BY reason`);
  expect(rows).toEqual([
    { state: 'unknown', reason: 'gone', came: null },
    { state: 'unknown', reason: 'not JSON', came: '<html>Sign in\ufffd</html>' },
  ]);
});

/** Functions and an operator of another user. PostgreSQL would prefer them to its own for our calls; each records that it ran. */
const hostile = `
  CREATE TABLE public.ran (what text);
  CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint LANGUAGE sql AS
    $$ INSERT INTO public.ran VALUES ('hashtextextended'); SELECT 1::bigint $$;
  CREATE FUNCTION public.pg_advisory_xact_lock(int) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO public.ran VALUES ('pg_advisory_xact_lock') $$;
  CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS
    $$ INSERT INTO public.ran VALUES ('unnest'); SELECT * FROM pg_catalog.unnest($1) $$;
  CREATE FUNCTION public.times(numeric, int) RETURNS numeric LANGUAGE sql AS
    $$ INSERT INTO public.ran VALUES ('*'); SELECT $1 OPERATOR(pg_catalog.*) $2::numeric $$;
  CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = int, FUNCTION = public.times);`;

it('a store and a warehouse run no function or operator that another user put into public', async () => {
  const url = stores.url();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(hostile);
    const { journal } = await stores.journal(url);
    await journal.setCaps({ dayMicros: 1_000_000, monthMicros: null });
    await journal.spent();
    await journal.usage('job');
    await journal.totals('job/');
    const warehouse = openWarehouse(url.replace(/schema=[^&]*/, 'schema=warehouse')).rows;
    await warehouse.holdsAnswers();
    await warehouse.close();
    expect((await client.query('SELECT what, count(*) FROM public.ran GROUP BY what')).rows).toEqual([]);
  } finally {
    await client.end();
  }
});
