import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { openAlerts } from '../../../dist/worker/alerts.js';
import type { AlertFact } from '../../../src/core/alerts/alert.js';
import { alertsOfFile } from '../../support/alerts/file-receiver.js';
import { silence, status } from '../../support/alerts/receiver.js';
import { soon } from '../../support/jobs/checks.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const receiver = alertsOfFile();
const file = settingOfFile({ config: { alerts: receiver.settings } });

/** An event that no other test has, as two processes see it, and the alerts of it that arrived. */
function event() {
  const key = randomUUID();
  const fact: AlertFact = { type: 'job.failed', key: [key], text: `Job ${key} failed.`, data: { job: key } };
  const { temporal, config, host } = file.setting;
  const another = openAlerts(config, async () => temporal.client);
  const arrived = () => receiver.alerts().filter(({ data }) => data.job === key);
  const handle = () => temporal.client.workflow.getHandle(`searchflow-${arrived()[0]?.id}-webhook`);
  const book = host().parts.deps.alerts;
  return { fact, book, another, arrived, handle, count: () => arrived().length };
}

it('an event that several processes note, again and again, is one delivery, whose workflow shows its text', async () => {
  const { fact, book, another, handle, count } = event();
  await Promise.all([book.note([fact]), another.note([fact]), book.note([fact])]);
  await expect.poll(count, soon).toBe(1);
  await handle().result();
  await openAlerts(file.setting.config, async () => file.setting.temporal.client).note([fact]);
  expect(await (await handle().describe()).staticSummary()).toBe(`job.failed: ${fact.text}`);
  const history = JSON.stringify(await handle().fetchHistory());
  expect(history).not.toContain('secret-of-the-hook');
  expect(history).not.toContain(Buffer.from('secret-of-the-hook').toString('base64').slice(0, 20));
  expect(count()).toBe(1);
});

it('another worker makes the next attempt after one that the receiver refused', async () => {
  const { fact, book, arrived, count } = event();
  receiver.answers(status(503));
  await book.note([fact]);
  await expect.poll(count, soon).toBe(1);
  receiver.answers(status(200));
  await file.setting.anotherHost();
  await expect.poll(count, soon).toBe(2);
  expect(new Set(arrived().map(({ id }) => id)).size).toBe(1);
});

it('the end of a worker interrupts an attempt without an answer, and the next worker repeats it', async () => {
  const { fact, book, count, handle } = event();
  receiver.answers(silence);
  await book.note([fact]);
  await expect.poll(count, soon).toBe(1);
  receiver.answers(status(200));
  await file.setting.anotherHost();
  await expect.poll(count, { ...soon, timeout: 5000 }).toBe(2);
  await handle().result();
  const { events } = await handle().fetchHistory();
  const started = events?.find((one) => one.activityTaskStartedEventAttributes)?.activityTaskStartedEventAttributes;
  expect(started).toMatchObject({ attempt: 2, lastFailure: { message: 'webhook: interrupted' } });
});

it('a reset sends an alert again', async () => {
  const { fact, book, count, handle } = event();
  await book.note([fact]);
  await expect.poll(count, soon).toBe(1);
  await handle().result();
  const { client, namespace } = file.setting.temporal;
  const { runId } = await handle().describe();
  await client.workflowService.resetWorkflowExecution({
    ...{ namespace, requestId: randomUUID(), reason: 'again', workflowTaskFinishEventId: 4 as never },
    workflowExecution: { workflowId: handle().workflowId, runId },
  });
  await expect.poll(count, soon).toBe(2);
});

it('a job ends although Temporal refuses its alerts, and an unreachable server is asked again', async () => {
  const { fact, count } = event();
  const said: string[] = [];
  const { client } = file.setting.temporal;
  const config = { ...file.setting.config, say: (text: string) => said.push(text) };
  const broken = (code: number) =>
    openAlerts(config, async () => {
      throw Object.assign(new Error('refused'), { code, details: '', metadata: {} });
    });
  const refused = broken(7);
  await refused.note([fact]);
  await refused.note([fact]);
  expect(said).toEqual(['Temporal refuses the alert job.failed (gRPC status 7).']);
  let isDown = true;
  const flaky = openAlerts(config, async () => {
    if (isDown) throw Object.assign(new Error('down'), { code: 14, details: '', metadata: {} });
    return client;
  });
  await expect(flaky.note([fact])).rejects.toThrow('down');
  isDown = false;
  await flaky.note([fact]);
  await expect.poll(count, soon).toBe(1);
});
