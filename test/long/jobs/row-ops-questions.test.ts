import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { enrich, serverOf } from '../../support/jobs/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { query, rows, schema, timesBought } from '../../support/jobs/row-purchases.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
let sandbox: Sandbox;
let folder: Folder;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());
beforeEach(async () => {
  sandbox = await startSandbox({ failureRate: 0, agentRuns: { durationMs: 200 }, research: { durationMs: 200 } });
  folder = new Folder();
  folder.write(rows);
});
afterEach(async () => {
  await sandbox.close();
  folder.remove();
});

const run = (changes: Partial<EnrichRequest>) =>
  enrich(folder, folder.config(sandbox.url, serverOf(temporal)), changes);

it('rows with the same question and different input have runs of their own', async () => {
  const request = {
    operation: 'agent',
    template: { input: { data: [{ id: '{{id}}', name: '{{name | default: "nobody"}}' }] } },
    options: { query: 'Who leads this company?', effort: 'low', outputSchema: schema },
  } as const;
  const { summary } = await run(request);
  expect(summary).toMatchObject({ requests: 30, warehouse: { success: 30 } });
  expect(timesBought(sandbox).size).toBe(30);
  // The sandbox copies its input, so that a row shows whose run it got.
  const rowsOut = await folder.query<{ input: string }>(
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
  const sent = sandbox.log().length;
  expect((await ask(query)).summary).toMatchObject({ requests: 0, warehouse: { success: 29 } });
  expect(sandbox.log().length).toBe(sent);
});
