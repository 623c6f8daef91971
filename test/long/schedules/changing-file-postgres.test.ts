import { expect, it, onTestFinished } from 'vitest';
import { startPostgres } from '../../support/postgres-server.mjs';
import { ChangingFile } from '../../support/schedules/changing-file.js';
import { DayByDay, live } from '../../support/schedules/day-by-day.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

it('a file that changes on scheduled runs is billed for its new and expired rows in PostgreSQL, too', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const warehouse = await server.database();
  const days = await DayByDay.open(temporal, { SEARCHFLOW_WAREHOUSE_URL: warehouse });
  onTestFinished(() => days.close());
  const file = new ChangingFile(40, 3, 2);
  await live(days, file, { days: 8, refreshAfterDays: 3, into: warehouse, killedBefore: [5] });
  expect(days.sold()).toEqual(Object.fromEntries(file.bill));
}, 120_000);
