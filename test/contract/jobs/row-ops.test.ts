import { describe, expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { RowSetting, rowOperations } from '../../support/jobs/row-operations.js';
import { query, rows, schema } from '../../support/jobs/row-purchases.js';
import { openTemporal } from '../../support/temporal.js';

const here = new RowSetting(openTemporal);
const { run } = here;

rowOperations(['search', 'agent'], here);

it('several rows share a run, and each gets its part of the output', async () => {
  const request = {
    operation: 'agent',
    rowsPerRun: 8,
    options: { query: 'Who leads each company?', effort: 'low', outputSchema: schema },
  } as const;
  const { plan, summary } = await run(request);
  expect(plan).toMatchObject({ toBuy: 4, requests: 4, staged: { rowsPerRun: 8 } });
  expect(summary).toMatchObject({ requests: 4, warehouse: { rows: 30, success: 30 } });
  const enriched = here.folder.enriched();
  expect(enriched.map((row) => row.result_id)).toEqual(rows.map(([id]) => id));
  expect(enriched.every(({ ceo, size }) => ceo !== '' && /^-?\d+$/.test(size ?? ''))).toBe(true);
  expect(new Set(enriched.map((row) => row.run_id)).size).toBe(4);
  expect((await run(request)).plan).toMatchObject({ status: 'complete', toBuy: 0 });
});

it('a failed run keeps its reason and its record, and costs the amount that the service reports', async () => {
  await here.sandbox.close();
  here.sandbox = await startSandbox({ agentRuns: { durationMs: 100, failureRate: 1 } });
  const { summary } = await run({ operation: 'agent', template: { query }, options: { effort: 'low' } });
  expect(summary).toMatchObject({ warehouse: { success: 0, error: 29, tags: { RUN_FAILED: 29 } } });
  expect(summary?.costMicros).toBe(here.sandbox.bill().micros);
  expect(await here.folder.query('SELECT status, count(*) AS rows FROM agent_outputs GROUP BY status')).toEqual([
    { status: 'failed', rows: '29' },
  ]);
});

describe('a job is refused with the position of the mistake, before anything is bought, when', () => {
  const refused: readonly (readonly [string, Partial<EnrichRequest>, RegExp])[] = [
    ['a template has an unknown column', { operation: 'search', template: { query: '{{nmae}}' } }, /"nmae".*"name"/],
    ['a field is given twice', { operation: 'search', template: { query }, options: { query: 'x' } }, /query.*once/],
    ['contents get a template', { template: { query } }, /no template/],
    [
      'the template of a shared run names a column',
      { operation: 'agent', template: { query }, rowsPerRun: 2 },
      /cannot name columns/,
    ],
  ];
  it.each(refused)('%s', async (_, request, what) => {
    await expect(run({ options: {}, ...request })).rejects.toThrow(what);
    expect(here.sandbox.log()).toEqual([]);
  });

  it('another operation uses the name of an existing job', async () => {
    await run({ job: 'named', operation: 'answer', template: { query }, options: {} });
    const sent = here.sandbox.log().length;
    await expect(run({ job: 'named', operation: 'search', template: { query }, options: {} })).rejects.toThrow(
      /named already exists for the operation answer\. Use another --job name for search/,
    );
    expect(here.sandbox.log().length).toBe(sent);
  });
});

it('a row whose own request cannot be meant is a bad row with its line, and nothing is bought for it', async () => {
  here.folder.write([...rows.slice(0, 3), ['3', 'x'.repeat(5000), 'https://x.example/']]);
  const { plan, summary } = await run({
    operation: 'search',
    template: { query: '{{name}}', startPublishedDate: '{{name}}' },
    options: {},
  });
  expect(plan.badRows[0]).toMatchObject({ row: 1, tag: 'INVALID_REQUEST' });
  expect(plan.badRows[0]?.message).toMatch(/^line 2: .*startPublishedDate/);
  expect(summary).toMatchObject({ requests: 0, warehouse: { invalid: 4 } });
});
