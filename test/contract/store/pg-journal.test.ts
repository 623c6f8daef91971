import { join } from 'node:path';
import { expect, it } from 'vitest';
import { identifier } from '../../../src/postgres/index.js';
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
