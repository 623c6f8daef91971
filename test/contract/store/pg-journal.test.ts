import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { journalContract } from '../../support/store/journal-contract.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';
import { spendContract } from '../../support/store/spend-contract.js';

const root = mkdtempSync(join(tmpdir(), 'searchflow-pg-journal-'));
let stores: PgStores;
beforeAll(async () => {
  stores = await startPgStores();
});
afterAll(async () => {
  await stores.stop();
  rmSync(root, { recursive: true, force: true });
});

/** A journal of a new store, and how to open it again once its process is dead. */
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
  return { books: journal, reopen };
});
