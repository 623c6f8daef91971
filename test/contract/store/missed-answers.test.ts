import { expect, it } from 'vitest';
import { identifier } from '../../../src/postgres/index.js';
import { ofFile } from '../../support/of-file.js';
import { startPgStores } from '../../support/store/pg-store.js';

const stores = ofFile(startPgStores);

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
