import { expect, it } from 'vitest';
import { RowSetting } from '../../support/jobs/row-operations.js';
import { query, rows, schema, timesBought } from '../../support/jobs/row-purchases.js';
import { openTemporal } from '../../support/temporal.js';

const here = new RowSetting(openTemporal);
const { run } = here;

it('rows with the same question and different input have runs of their own', async () => {
  const request = {
    operation: 'agent',
    template: { input: { data: [{ id: '{{id}}', name: '{{name | default: "nobody"}}' }] } },
    options: { query: 'Who leads this company?', effort: 'low', outputSchema: schema },
  } as const;
  const { summary } = await run(request);
  expect(summary).toMatchObject({ requests: 30, warehouse: { success: 30 } });
  expect(timesBought(here.sandbox).size).toBe(30);
  // The sandbox repeats the input of a run in its output, so a row shows from which run its answer comes.
  const rowsOut = await here.folder.query<{ input: string }>(
    `SELECT to_json(response->'$.request.input.data[0].id')::VARCHAR AS input FROM enriched_rows ORDER BY row_number`,
  );
  expect(rowsOut.map(({ input }) => JSON.parse(input))).toEqual(rows.map(([id]) => id));
});

it('another question on the same file is shown in the plan, and the first answers stay bought', async () => {
  const ask = (text: string) => run({ operation: 'answer', template: { query: text }, options: {} });
  await ask(query);
  const other = await ask('Who owns {{name}}?');
  expect(other.plan).toMatchObject({ status: 'changed', toBuy: 28 });
  expect(other.plan.notes.join()).toContain('Who owns {{name}}?');
  const sent = here.sandbox.log().length;
  expect((await ask(query)).summary).toMatchObject({ requests: 0, warehouse: { success: 29 } });
  expect(here.sandbox.log().length).toBe(sent);
});
