import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type WorkflowInterface, workflowInterface } from '../../../src/api/workflow-interface.js';
import { codePath } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const taskQueue = 'workflow-messages';
const rows = { input: 'rows.csv' };
const alert = { id: 'alert_1', type: 'job.done', createdAt: '2026-11-25T06:00:00Z', text: 'Done.', data: {} };

/** Arguments with which each workflow is accepted. */
const jobs: { readonly [Name in keyof typeof workflowInterface]: readonly unknown[] } = {
  enrichCsv: [rows],
  enrichRows: [{ rows: [{ url: 'https://example.com/' }] }],
  runAgentRows: [{ ...rows, query: 'Who leads {{name}}?' }],
  runAgent: [{ query: 'Who leads Acme?' }],
  runResearch: [{ input: { instructions: 'Who leads Acme?' } }],
  syncEvents: [{}],
  backfillEvents: [{}],
  exportMonitorRuns: [{}],
  syncAgentRuns: [{}],
  batchMonitors: [{ action: 'pause', filter: { name: 'a' } }],
  createMonitor: [{ definition: {} }],
  monitorCall: [{ operation: 'listMonitors', input: {} }],
  scheduledJob: [{ schedule: 's', workflow: 'syncEvents', workflowId: 'of-the-schedule', input: {} }],
  deliverAlert: [{ alert, receiver: 'webhook' }],
};

const temporal = temporalOfFile();
let worker: Worker;
let ended: Promise<void>;
beforeAll(async () => {
  const { namespace, nativeConnection: connection } = temporal;
  // Without activities, each workflow waits for its first one.
  worker = await Worker.create({ connection, namespace, taskQueue, workflowBundle: { codePath } });
  ended = worker.run();
});
afterAll(async () => {
  worker?.shutdown();
  await ended;
});

interface Defined {
  readonly definition: Record<'signalDefinitions' | 'queryDefinitions' | 'updateDefinitions', { name?: string }[]>;
}

it.each(Object.entries(jobs))(
  'the messages in the table are those that the workflow %s handles',
  async (name, args) => {
    const handle = await temporal.client.workflow.start(name, { taskQueue, workflowId: `of-${name}`, args: [...args] });
    const { definition } = await handle.query<Defined>('__temporal_workflow_metadata');
    await handle.terminate();
    const named = (definitions: readonly { name?: string }[] = []) =>
      definitions.map((one) => one.name ?? '').filter((one) => !one.startsWith('__'));
    const { signals, queries, updates } = (workflowInterface as Record<string, WorkflowInterface>)[
      name
    ] as WorkflowInterface;
    expect({
      signals: named(definition.signalDefinitions).sort(),
      queries: named(definition.queryDefinitions).sort(),
      updates: named(definition.updateDefinitions).sort(),
    }).toEqual({
      signals: Object.keys(signals).sort(),
      queries: Object.keys(queries).sort(),
      updates: Object.keys(updates).sort(),
    });
  },
);
