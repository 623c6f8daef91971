import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { sharedPostgres } from '../../support/postgres.js';
import { mulberry } from '../../support/schedules/changing-file.js';
import { ChangingTable } from '../../support/schedules/changing-table.js';
import { DayByDay } from '../../support/schedules/day-by-day.js';
import { temporalOfFile } from '../../support/temporal.js';

const RUNS = 10;
const temporal = temporalOfFile();

it('a table with a key that changes between 10 triggered runs is billed for its new and changed rows, and marks exactly the deleted ones', async () => {
  const url = await sharedPostgres().database('crm');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  const days = await DayByDay.open(temporal, { SEARCHFLOW_SOURCE_URL: url });
  onTestFinished(() => days.close());
  const { folder } = days;
  const table = await ChangingTable.make(client, 40, mulberry(7));
  const carried = Object.assign(new URL(url), { username: '', password: '' }).href;
  const sql = 'SELECT id, name, url FROM brands ORDER BY place';
  let due = await table.write();
  await days.schedule(table, '--from', carried, '--sql', sql, '--job', 'brands', '--key', 'id', '--into', folder.into);
  await days.work();
  let edits = 0;
  for (let run = 0; run < RUNS; run++) {
    if (run > 0) {
      table.change();
      due = await table.write();
      edits += due;
    }
    if (run === 5) await days.restartWorker();
    const before = Object.keys(days.sold()).length;
    const { warehouse } = await days.run(table);
    const { rows, success, missing, vanished } = warehouse;
    const { length } = table.rows;
    expect({ run, rows, success, missing, vanished, bought: Object.keys(days.sold()).length - before }).toEqual({
      ...{ run, rows: length, success: length, missing: 0, vanished: table.vanished.length, bought: due },
    });
  }
  await days.kill();
  expect(edits).toBeGreaterThan(20);
  expect(days.sold()).toEqual(Object.fromEntries([...table.bill].map((one) => [one, 1])));
  const stored = await folder.query<{ cells: string[]; url: string; vanished: boolean }>(
    'SELECT input AS cells, url, vanished_at IS NOT NULL AS vanished FROM enriched_rows ORDER BY vanished, row_number, input[1]',
  );
  const visible = stored.filter(({ vanished }) => !vanished);
  expect(visible.map(({ cells }) => cells)).toEqual(table.rows);
  expect(visible.map((row) => row.url)).toEqual(table.rows.map(([, , site]) => site));
  expect(stored.flatMap(({ cells, vanished }) => (vanished ? [cells[0]] : [])).sort()).toEqual(table.vanished);
  const view = await folder.query<{ id: number; name: string }>('SELECT id, name FROM brands ORDER BY row_number');
  expect(view).toEqual(table.rows.map(([id, name]) => ({ id: Number(id), name })));
}, 240_000);
