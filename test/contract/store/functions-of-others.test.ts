import pg from 'pg';
import { expect, it } from 'vitest';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { ofFile } from '../../support/of-file.js';
import { startPgStores } from '../../support/store/pg-store.js';

const stores = ofFile(startPgStores);

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
