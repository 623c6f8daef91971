// A unit test of your own: no key, no service, no cost. Run it with `node --test`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, Worker, type WorkflowBundle } from '@temporalio/worker';
import { mockOperations, type OperationMocks, sampleAnswers } from 'searchflow/testing';
import type { checkFounder, findSites } from './workflows.js';

let environment: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundle;
before(async () => {
  // Without internet access, this variable names the program of Temporal's test server.
  const path = process.env.TEMPORAL_TEST_SERVER;
  const server = path === undefined ? {} : { executable: { type: 'existing-path' as const, path } };
  const workflowsPath = fileURLToPath(new URL('./workflows.js', import.meta.url));
  [environment, workflowBundle] = await Promise.all([
    TestWorkflowEnvironment.createTimeSkipping({ server }),
    bundleWorkflowCode({ workflowsPath }),
  ]);
});
after(() => environment.teardown());

const taskQueue = 'test';
async function workerWith(mocks: OperationMocks): Promise<Worker> {
  const { nativeConnection: connection } = environment;
  return Worker.create({ connection, taskQueue, workflowBundle, activities: mockOperations(mocks) });
}

test('findSites keeps the order of the rows, and pays once for equal rows', async () => {
  const worker = await workerWith({
    search: ({ query }) => ({
      results: [{ id: query, url: `https://${query.split(' ')[0]}.example/` }],
      costDollars: { total: 0.007 },
    }),
  });
  const { sites, costDollars } = await worker.runUntil(
    environment.client.workflow.execute<typeof findSites>('findSites', {
      ...{ taskQueue, workflowId: 'sites' },
      args: [[{ company: 'acme' }, { company: 'globex' }, { company: 'acme' }]],
    }),
  );
  assert.deepEqual(sites, ['https://acme.example/', 'https://globex.example/', 'https://acme.example/']);
  assert.equal(costDollars, 0.014);
});

test('checkFounder waits a day, which takes no time here', async () => {
  const worker = await workerWith(sampleAnswers);
  const started = Date.now();
  const { url } = await worker.runUntil(
    environment.client.workflow.execute<typeof checkFounder>('checkFounder', {
      ...{ taskQueue, workflowId: 'founder' },
      args: ['acme'],
    }),
  );
  assert.match(url ?? '', /^https:/);
  assert.ok(Date.now() - started < 60_000);
});
