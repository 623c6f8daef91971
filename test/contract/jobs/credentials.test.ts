import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { expect, it, vi } from 'vitest';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

// The tests use real servers and workers, and the machine may be busy.
vi.setConfig({ testTimeout: 180_000 });

const temporal = temporalOfFile();

const filter = { name: 'daily' };
const inputs: Readonly<Record<string, object>> = {
  enrichCsv: { input: 'rows.csv' },
  runAgentRows: { input: 'rows.csv', query: '{{name}}' },
  syncEvents: {},
  backfillEvents: {},
  exportMonitorRuns: {},
  syncAgentRuns: {},
  batchMonitors: { action: 'pause', filter },
};

it('a workflow whose input holds a password fails before its first activity, and nothing is written', async () => {
  const setting = await MonitorSetting.open(temporal);
  const into = ['postgres://ann:canary-pw@127.0.0.1:9/dw', 'postgres://127.0.0.1:9/dw?user=ann&password=canary-pw'];
  const others = [
    'host=127.0.0.1 dbname=dw password=canary-pw',
    'ann:canary-pw@127.0.0.1/dw',
    'mysql://ann:canary-pw@127.0.0.1/dw',
    ...['jdbc:postgresql://127.0.0.1/dw?user=ann&password=canary-pw', 'snowflake://ann:canary-pw@account/dw'],
  ];
  const fields = ['input', 'into', 'csv'].flatMap((field) =>
    others.map((at) => ({ workflow: 'enrichCsv', input: { input: 'rows.csv', [field]: at } })),
  );
  const all = Object.entries(inputs).flatMap(([workflow, input]) =>
    into.map((at) => ({ workflow, input: { ...input, into: at } })),
  );
  const scheduled = { schedule: 'daily', workflow: 'syncEvents', workflowId: 'never', input: { into: into[0] } };
  const before = readdirSync(setting.folder.dir, { recursive: true }).length;
  for (const { workflow, input } of [...all, ...fields, { workflow: 'scheduledJob', input: scheduled }]) {
    const handle = await setting.start(workflow, input);
    const error = await handle.result().catch((reason: Error) => reason.cause);
    expect(error, workflow).toBeInstanceOf(ApplicationFailure);
    expect(error, workflow).toMatchObject({
      type: 'BadInput',
      message: expect.stringMatching(/^Invalid input of \w+\. (input\.)?(into|input|csv): (?!.*canary)/),
    });
    const { events = [] } = await handle.fetchHistory();
    const said = events?.filter(({ workflowExecutionStartedEventAttributes: started }) => !started);
    expect(
      said?.some((event) => event.activityTaskScheduledEventAttributes),
      workflow,
    ).toBe(false);
    expect(JSON.stringify(said), workflow).not.toContain('canary');
  }
  expect(setting.server.log).toEqual([]);
  expect(existsSync(join(setting.config.stateDir, 'jobs'))).toBe(false);
  expect(readdirSync(setting.folder.dir, { recursive: true }).length).toBe(before);
});
