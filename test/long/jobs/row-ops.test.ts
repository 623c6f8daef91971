import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { EnrichRequest } from '../../../dist/worker/config/runtime-types.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { enrich, serverOf } from '../../support/jobs/command.js';
import { Folder } from '../../support/jobs/folder.js';
import { rowOperations } from '../../support/jobs/row-operations.js';
import { rows } from '../../support/jobs/row-purchases.js';
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

rowOperations(['answer', 'findSimilar'], () => ({ run, sandbox, folder }));
