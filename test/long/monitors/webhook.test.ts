import { createHmac, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { monitorWebhook, type SignallingClient } from '../../../src/webhook.js';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const secret = 'whsec-canary';

/** A delivery of the service, signed so many seconds ago. */
function delivery({ by = secret, ageSeconds = 0, body = '{"id":"e1","type":"monitor.run.completed"}' } = {}): Request {
  const time = Math.floor(Date.now() / 1000) - ageSeconds;
  const signature = createHmac('sha256', by).update(`${time}.${body}`).digest('hex');
  const headers = { 'exa-signature': `t=${time},v1=${signature}` };
  return new Request('http://127.0.0.1/hooks', { method: 'POST', body, headers });
}

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const run = (monitorId: string, number: number) => ({
  ...{ id: `${monitorId}-run-${number}`, monitorId, status: 'completed', failReason: null },
  output: { results: [], content: `found ${number}`, grounding: null },
  ...{ createdAt: at(number), startedAt: at(number), completedAt: at(number + 1) },
});

it('webhooks, double, late and lost ones, lead to the runs that the service lists', async () => {
  const setting = await MonitorSetting.open(temporal);
  const { id } = setting.server.monitors.add({ name: 'one' });
  const workflowId = randomUUID();
  const options = { secret, workflowId, taskQueue: setting.config.taskQueue, input: { into: setting.folder.into } };
  const ring = monitorWebhook({ ...options, client: temporal.client as unknown as SignallingClient });
  const listed: ReturnType<typeof run>[] = [];
  const add = (number: number) => {
    listed.push(run(id, number));
    setting.server.monitors.runs.set(id, [...listed]);
  };
  add(1);
  expect((await ring(delivery())).status).toBe(202);
  add(2);
  // The webhook of run 3 is lost.
  add(3);
  const answers = await Promise.all([ring(delivery()), ring(delivery()), ring(delivery({ ageSeconds: 3600 }))]);
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  await temporal.client.workflow.getHandle(workflowId).result();
  const stored = await setting.query('SELECT id FROM monitor_runs ORDER BY id');
  expect(stored).toEqual(listed.map((one) => ({ id: one.id })));
});

it('a wrong webhook starts nothing, and one that Temporal does not take is asked for again', async () => {
  const calls: unknown[] = [];
  const away = {
    workflow: { signalWithStart: async (name: string) => Promise.reject(new Error(`${calls.push(name)}`)) },
  };
  const ring = monitorWebhook({ secret, client: away });
  const statuses = [
    await ring(delivery({ by: 'another' })),
    await ring(delivery({ ageSeconds: 8 * 86_400 })),
    await ring(delivery({ body: 'no event' })),
    await ring(new Request('http://127.0.0.1/hooks')),
    await ring(delivery({ body: 'x'.repeat(1_048_577) })),
  ].map(({ status }) => status);
  expect([statuses, calls]).toEqual([[401, 401, 400, 405, 413], []]);
  expect((await ring(delivery())).status).toBe(503);
  expect(calls).toEqual(['exportMonitorRuns']);
  expect(() => monitorWebhook({ secret: '', client: away })).toThrow(TypeError);
});
