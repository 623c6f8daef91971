import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import type { openTemporal } from '../temporal.js';
import { enrich, serverOf } from './command.js';
import { Folder } from './folder.js';
import { forget } from './forgetting.js';
import { query, rows, schema, timesBought } from './row-purchases.js';

/** Opens a sandbox, a folder with `rows` as its input, and a command for each test of a file. */
export class RowSetting {
  sandbox!: Sandbox;
  folder!: Folder;
  #temporal!: TestWorkflowEnvironment;

  constructor(open: typeof openTemporal) {
    beforeAll(async () => {
      this.#temporal = await open();
    });
    afterAll(() => this.#temporal?.teardown());
    beforeEach(async () => {
      this.sandbox = await startSandbox({ failureRate: 0, agentRuns: { durationMs: 200 } });
      this.folder = new Folder();
      this.folder.write(rows);
    });
    afterEach(async () => {
      await this.sandbox.close();
      this.folder.remove();
    });
  }

  get config() {
    return this.folder.config(this.sandbox.url, serverOf(this.#temporal));
  }
  readonly run = (changes: Partial<EnrichRequest>) => enrich(this.folder, this.config, changes);
}

const operations: readonly (readonly [string, Partial<EnrichRequest>, check: string])[] = [
  [
    'search',
    { operation: 'search', template: { query }, options: { numResults: 2 } },
    'SELECT count(DISTINCT row_number) AS rows, max(rank) AS most FROM search_results',
  ],
  [
    'answer',
    { operation: 'answer', template: { query }, options: {} },
    'SELECT count(*) AS rows, min(length(answer)) > 10 AS long FROM answers',
  ],
  [
    'agent',
    { operation: 'agent', template: { query }, options: { effort: 'low', outputSchema: schema } },
    'SELECT count(*) AS rows, count(DISTINCT run_id) AS runs FROM agent_outputs',
  ],
];
const found: Readonly<Record<string, object>> = {
  search: { rows: '29', most: '2' },
  answer: { rows: '29', long: true },
  agent: { rows: '29', runs: '28' },
};

/** Makes one test for each of these operations: a job of the operation buys each request once and loads an answer for each row. */
export function rowOperations(names: readonly string[], here: RowSetting): void {
  it.each(operations.filter(([operation]) => names.includes(operation)))(
    '%s is bought once for each distinct request and loaded for every row; neither the same command nor a job after forget sends more',
    async (operation, request, check) => {
      const { run, sandbox, folder } = here;
      const { plan, summary } = await run(request);
      expect(plan).toMatchObject({ status: 'new', toBuy: 28, requests: 28, staged: { operation, badRows: 1 } });
      expect(plan.badRows[0]?.message).toMatch(/line 31, column [23] \("(name|url)"\): /);
      expect(summary).toMatchObject({
        phase: 'done',
        requests: 28,
        unknownOutcomes: 0,
        warehouse: { rows: 30, success: 29, invalid: 1, missing: 0 },
      });
      const bought = timesBought(sandbox);
      expect(bought.size).toBe(28);
      expect([...bought.values()].every((times) => times === 1)).toBe(true);
      expect(folder.outcomes()).toEqual(rows.map((row, index) => [row, index === 29 ? 'invalid' : 'success']));
      expect(await folder.query(check)).toEqual([found[operation]]);
      const cost = folder.enriched().reduce((sum, row) => sum + Math.round(Number(row.cost_dollars) * 1e6), 0);
      expect([summary?.costMicros, sandbox.bill().micros]).toEqual([cost, cost]);

      const sent = sandbox.log().length;
      expect((await run(request)).plan).toMatchObject({ status: 'complete', toBuy: 0, alreadyBought: 28 });
      await forget(here.config, { job: 'rows' });
      const other = await run({ ...request, job: 'other' });
      expect(other.summary).toMatchObject({ phase: 'done', warehouse: { rows: 30, success: 0, discarded: 29 } });
      expect(sandbox.log().length).toBe(sent);
    },
  );
}
