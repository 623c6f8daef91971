import { defineSearchAttributeKey } from '@temporalio/common';
import { expect, it } from 'vitest';
import type { AgentRowsInput, JobSummary } from '../../../src/core/row-job-schemas.js';
import { workflowNames } from '../../../src/core/rows/job-names.js';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { timesBought } from '../../support/jobs/row-purchases.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

async function open(rows: number, options: Partial<SandboxOptions>) {
  const folder = Folder.ofTest();
  folder.write(plainRows(rows));
  const sandbox = await startSandbox({ failureRate: 0, ...options });
  const config = folder.config(sandbox.url, { rate: { qps: 10_000 }, concurrency: 16 });
  const host = await startHost(temporal, config);
  closeAfterTest(sandbox, host);
  return { folder, sandbox, taskQueue: config.taskQueue };
}

const job = defineSearchAttributeKey('SearchflowJob', 'KEYWORD');
const phase = defineSearchAttributeKey('SearchflowPhase', 'KEYWORD');

it('runAgentRows runs an agent for each row, and never more at once than there are slots', async () => {
  const keyword = 2;
  const searchAttributes = { [job.name]: keyword, [phase.name]: keyword };
  await temporal.connection.operatorService.addSearchAttributes({ namespace: temporal.namespace, searchAttributes });
  const { folder, sandbox, taskQueue } = await open(130, { agentRuns: { durationMs: { min: 100, max: 1500 } } });
  const input: AgentRowsInput = {
    input: folder.input,
    into: folder.into,
    csv: folder.csv,
    query: 'Find the CEO of {{name}}',
    effort: 'low',
    outputSchema: { type: 'object', properties: { ceo: { type: 'string' }, founded: { type: 'integer' } } },
    request: { systemPrompt: 'The company is at {{url}}' },
  };
  const workflowId = `agents-${folder.dir}`;
  const handle = await temporal.client.workflow.start(workflowNames.runAgentRows, {
    workflowId,
    taskQueue,
    args: [input],
    typedSearchAttributes: [{ key: job, value: 'agents' }],
  });
  const summary = (await handle.result()) as JobSummary;
  expect(summary).toMatchObject({ phase: 'done', requests: 130, warehouse: { rows: 130, success: 130 } });
  expect((await handle.describe()).typedSearchAttributes.get(phase)).toBe('done');
  expect([...timesBought(sandbox).values()]).toEqual(Array(130).fill(1));
  const refused = sandbox.log().filter(({ method, status }) => method === 'POST' && status === 429);
  expect(refused.length).toBeLessThanOrEqual(2);
  const rows = folder.enriched();
  expect(rows.map(({ id }) => id)).toEqual(plainRows(130).map(([id]) => id));
  expect(rows.every(({ ceo, founded }) => ceo !== '' && /^\d+$/.test(founded ?? ''))).toBe(true);
  const asked = await folder.query<{ request: string }>(
    `SELECT (response->'$.request')::VARCHAR AS request FROM enriched_rows WHERE row_number = 8`,
  );
  expect(JSON.parse(asked[0]?.request ?? '')).toMatchObject({
    query: 'Find the CEO of Company 7',
    systemPrompt: 'The company is at https://site-7.example/about',
    effort: 'low',
  });
});
