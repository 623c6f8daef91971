import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPurchase } from '../../../src/activities/purchase/purchase.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { setting, success, units } from '../../support/activities/purchase-setting.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

let stores: PgStores;
beforeAll(async () => {
  stores = await startPgStores();
});
afterAll(() => stores.stop());

it('a budget that several workers share is spent once, to the last request, and raised for all of them', async () => {
  const url = stores.url();
  const workers = await Promise.all(
    [0, 1, 2].map(async () => ({ ...(await setting()), journal: (await stores.journal(url)).journal })),
  );
  let billed = 0;
  const run = (limitMicros: number) =>
    Promise.allSettled(
      workers.map((worker, slice) => {
        const request = worker.request(
          async (batch) => {
            // One page in ten fails and is free.
            const micros = batch.filter((one) => !one.unit.endsWith('7')).length * 1000;
            billed += micros;
            return success(batch, micros);
          },
          {
            segment: `job/gen/00000${slice}`,
            units: units(60, 60 * slice),
            unitsPerRequest: 7,
            cap: { bookPrefix: 'job/', limitMicros },
          },
        );
        return createPurchase(worker)(request, worker.control);
      }),
    );
  const first = await run(100_000);
  expect(first.some(({ status }) => status === 'rejected')).toBe(true);
  for (const end of first) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(OverBudget);
  expect(billed).toBeLessThanOrEqual(100_000);
  expect(billed).toBeGreaterThan(99_000 - 1);
  const second = await run(180_000);
  expect(second.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect(billed).toBe(162_000);
  const sent = workers.flatMap((worker) => worker.sent.flat());
  expect(new Set(sent).size).toBe(sent.length);
});
