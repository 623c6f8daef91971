// The stories that `record-histories.mjs` records: at least one for each workflow.

const stretch = { from: '2025-01-01T00:00:00.000Z', to: '2025-02-01T00:00:00.000Z' };
const refusal = { when: { nth: 3 }, do: { kind: 'status', status: 401, tag: 'INVALID_API_KEY' } };
const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const monitor = (serial) => ({
  name: `daily ${serial}`,
  search: { query: `news ${serial}` },
  metadata: { team: 'growth' },
  webhook: { url: 'https://hooks.example/monitors' },
});
const withMonitors = async (call) => {
  for (let serial = 1; serial <= 4; serial++) await call('POST', '/monitors', monitor(serial));
};

async function until(met) {
  while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 10));
}
const phaseIs = (handle, phase) => until(async () => (await handle.query('progress')).phase === phase);

/** Arguments of a job of rows. */
const rowsWith =
  (more = {}) =>
  ({ input, into, csv }) => [{ input, ...more, urlColumn: 'url', into, csv, batch: 10 }];

async function resumeWhenPaused(handle) {
  await phaseIs(handle, 'paused');
  await handle.signal('resume');
}

async function pauseAndResume(handle, sandbox) {
  await until(() => sandbox.log().length > 1);
  await handle.signal('pause');
  await resumeWhenPaused(handle);
}

/**
 * Each story: the workflow, its arguments, options of the sandbox, calls before it, and the controls while it runs. If the recorder gets
 * names as arguments, it records only these stories.
 */
export const historyStories = [
  { name: 'done', workflow: 'enrichCsv', rows: 60, args: rowsWith() },
  { name: 'continued-as-new', workflow: 'enrichCsv', rows: 240, args: rowsWith() },
  {
    ...{ name: 'refused-and-resumed', workflow: 'enrichCsv', rows: 60, args: rowsWith() },
    sandbox: { faults: [refusal] },
    meanwhile: resumeWhenPaused,
  },
  {
    ...{ name: 'paused-and-resumed', workflow: 'enrichCsv', rows: 60, args: rowsWith() },
    sandbox: { latencyMs: 100 },
    meanwhile: pauseAndResume,
  },
  {
    ...{ name: 'out-of-budget-and-raised', workflow: 'enrichCsv', rows: 60, args: rowsWith({ maxCostDollars: 0.025 }) },
    sandbox: { latencyMs: 50 },
    meanwhile: async (handle) => {
      await until(async () => (await handle.query('progress')).pausedFor === 'budget');
      await handle.signal('resume', { maxCostDollars: 5 });
      await until(async () => (await handle.query('progress')).pausedFor === null);
      await handle.signal('resume', { maxCostDollars: 'none' });
    },
  },
  {
    ...{ name: 'scheduled-and-stopped', workflow: 'enrichCsv', rows: 60 },
    args: rowsWith({ scheduled: true, maxCostDollars: 0.025 }),
  },
  {
    ...{ name: 'cancelled', workflow: 'enrichCsv', rows: 60, args: rowsWith() },
    sandbox: { latencyMs: 100 },
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 1);
      await handle.cancel();
    },
  },
  {
    ...{ name: 'stopped-by-its-command', workflow: 'enrichCsv', rows: 60, args: rowsWith() },
    sandbox: { latencyMs: 100 },
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 1);
      await handle.signal('stop', 'its command was stopped');
    },
  },
  {
    ...{ name: 'agent-rows-paused-and-resumed', workflow: 'runAgentRows', rows: 8 },
    sandbox: { agentRuns: { durationMs: 300 }, latencyMs: 50 },
    args: ({ input, into }) => [
      { input, into, query: 'Find the owner of {{url}}', effort: 'low', outputSchema: schema },
    ],
    meanwhile: pauseAndResume,
  },
  {
    ...{ name: 'agent-rows-cancelled', workflow: 'runAgentRows', rows: 4 },
    sandbox: { agentRuns: { durationMs: 60_000 } },
    args: ({ input, into }) => [{ input, into, query: 'Find the owner of {{url}}', effort: 'low' }],
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 4);
      await handle.cancel();
    },
  },
  {
    ...{ name: 'rows-enriched', workflow: 'enrichRows' },
    args: () => [{ rows: Array.from({ length: 300 }, (_, nth) => ({ url: `https://site-${nth % 280}.example/` })) }],
  },
  {
    ...{ name: 'events-synced', workflow: 'syncEvents', args: ({ into }) => [{ into }] },
    sandbox: { events: { ...stretch, count: 1000 } },
  },
  {
    ...{ name: 'events-backfilled', workflow: 'backfillEvents' },
    sandbox: { events: { ...stretch, count: 60_000 } },
    args: ({ into }) => [{ into, from: stretch.from, until: stretch.to, parallel: 2 }],
  },
  {
    ...{ name: 'events-refused-and-resumed', workflow: 'syncEvents', args: ({ into }) => [{ into }] },
    sandbox: { events: { ...stretch, count: 1000 }, faults: [refusal] },
    meanwhile: resumeWhenPaused,
  },
  {
    ...{ name: 'agent-run', workflow: 'runAgent' },
    // The run takes longer than the first activity follows it.
    sandbox: { agentRuns: { durationMs: 6000 } },
    args: () => [{ query: 'Who makes this?', effort: 'low' }, { deleteAfter: true }],
  },
  {
    ...{ name: 'agent-run-out-of-time', workflow: 'runAgent' },
    sandbox: { agentRuns: { durationMs: 60_000 } },
    args: () => [{ query: 'Who makes this?', effort: 'low' }, { maxDurationSeconds: 1 }],
  },
  {
    ...{ name: 'agent-run-cancelled', workflow: 'runAgent' },
    sandbox: { agentRuns: { durationMs: 60_000 } },
    args: () => [{ query: 'Who makes this?', effort: 'low' }],
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 1);
      await handle.cancel();
    },
  },
  {
    ...{ name: 'research-task', workflow: 'runResearch' },
    sandbox: { research: { durationMs: 200 } },
    args: () => [{ input: { instructions: 'Find the owner' }, output: { schema } }],
  },
  {
    ...{ name: 'monitors-paused', workflow: 'batchMonitors', before: withMonitors },
    args: ({ into }) => [{ action: 'pause', filter: { name: 'daily' }, limit: 2, into, by: 'Ann' }],
  },
  {
    ...{ name: 'monitors-deleted-when-approved', workflow: 'batchMonitors', before: withMonitors },
    args: ({ into }) => [{ action: 'delete', filter: { name: 'daily' }, into, by: 'Ann' }],
    meanwhile: async (handle) => {
      await phaseIs(handle, 'waiting');
      await handle.executeUpdate('approve', { args: [{ by: 'Bob', why: 'old ones' }] });
    },
  },
  {
    ...{ name: 'monitors-not-approved', workflow: 'batchMonitors', before: withMonitors },
    args: ({ into }) => [{ action: 'delete', filter: { name: 'daily' }, into, by: 'Ann', approvalWithinMs: 500 }],
  },
  {
    ...{ name: 'monitor-created', workflow: 'createMonitor' },
    args: ({ dir }) => [{ definition: monitor(1), secretFile: `${dir}/secrets.json` }],
  },
  {
    ...{ name: 'monitor-created-without-answer', workflow: 'createMonitor' },
    sandbox: { faults: [{ when: { nth: 1, path: '/monitors' }, do: { kind: 'reset', moment: 'before' } }] },
    args: ({ dir }) => [{ definition: monitor(1), secretFile: `${dir}/secrets.json` }],
  },
  {
    ...{ name: 'monitor-called', workflow: 'monitorCall', before: withMonitors },
    args: () => [{ operation: 'listMonitors', input: {} }],
  },
  {
    ...{ name: 'monitor-runs-exported', workflow: 'exportMonitorRuns' },
    before: async (call) => {
      for (let serial = 1; serial <= 2; serial++) {
        const made = await call('POST', '/monitors', monitor(serial));
        await call('POST', `/monitors/${made.id}/trigger`);
      }
    },
    args: ({ into }) => [{ into }],
  },
  {
    ...{ name: 'agent-runs-synced', workflow: 'syncAgentRuns' },
    before: async (call) => {
      for (let serial = 1; serial <= 2; serial++)
        await call('POST', '/agent/runs', { query: `Who leads Acme ${serial}?`, effort: 'low' });
    },
    args: ({ into }) => [{ into }],
  },
  {
    ...{ name: 'scheduled-job', workflow: 'scheduledJob', rows: 20 },
    args: ({ name, input, into }) => [
      {
        ...{ schedule: 'daily', workflow: 'enrichCsv', workflowId: `enrich-${name}-rows` },
        input: { input, urlColumn: 'url', into },
      },
    ],
  },
  {
    ...{ name: 'alert-delivered', workflow: 'deliverAlert' },
    alerts: { url: null, secret: null, command: ['/bin/true'], on: ['job.done'], lagMs: null },
    args: () => [
      {
        ...{ receiver: 'command' },
        alert: { id: `alert_${'0'.repeat(32)}`, type: 'job.done', createdAt: stretch.from, text: 'Done.', data: {} },
      },
    ],
  },
];
