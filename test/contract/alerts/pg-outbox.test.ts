import { afterAll, beforeAll, expect, it } from 'vitest';
import { identifier } from '../../../src/postgres/index.js';
import { PgOutbox } from '../../../src/store/postgres/pg-outbox.js';
import { AlertSender } from '../../../src/worker/alerts/alert-sender.js';
import { madeAlert, outboxContract } from '../../support/alerts/outbox-contract.js';
import { startReceiver } from '../../support/alerts/receiver.js';
import { quickTimes, settingsFor } from '../../support/alerts/settings.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

let stores: PgStores;
beforeAll(async () => {
  stores = await startPgStores();
});
afterAll(() => stores.stop());

outboxContract('PgOutbox', async () => {
  const postgres = await stores.connect(stores.url());
  const table = `${identifier(postgres.address.schema)}.alerts`;
  return {
    outbox: new PgOutbox(postgres),
    // The clock of the database cannot be set, so all times of the table are moved into the past instead.
    pass: async (ms) => {
      const moved = ['created_at', 'next_at', 'until_at', 'claimed_until', 'ended_at'].map(
        (column) => `${column} = ${column} - $1 * interval '1 millisecond'`,
      );
      await postgres.query(`UPDATE ${table} SET ${moved.join(', ')}`, [ms]);
    },
  };
});

it('two workers of a store together deliver each of fifty alerts once', async () => {
  const url = stores.url();
  const receiver = await startReceiver();
  const outboxes = await Promise.all([0, 1].map(async () => new PgOutbox(await stores.connect(url))));
  const alerts = Array.from({ length: 50 }, (_, nth) => madeAlert(`alert ${nth}`));
  for (const alert of alerts) await outboxes[0]?.add(alert, ['webhook'], 60_000);
  const senders = outboxes.map(
    (outbox) => new AlertSender(outbox, settingsFor(receiver.url), () => undefined, quickTimes),
  );
  for (const sender of senders) sender.start();
  await expect.poll(() => receiver.arrived.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(50);
  await Promise.all(senders.map((sender) => sender.close(5000)));
  expect(receiver.arrived.map(({ alert }) => alert.id).sort()).toEqual(alerts.map(({ id }) => id).sort());
  const kept = await (outboxes[1] as PgOutbox).list(100);
  expect(kept.filter(({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))).toHaveLength(50);
});
