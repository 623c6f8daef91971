import { expect, it, onTestFinished } from 'vitest';
import { silence, startReceiver, status } from '../../support/alerts/receiver.js';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';

/** A folder with rows, and a receiver of alerts. The commands use the sandbox. */
async function opened(first: Parameters<typeof startReceiver>[0]) {
  const folder = new Folder();
  onTestFinished(() => folder.remove());
  folder.write(plainRows(20));
  const receiver = await startReceiver(first);
  const env = { SEARCHFLOW_ALERT_URL: receiver.url, SEARCHFLOW_ALERT_ON: 'all', HOME: folder.dir };
  const how = { cwd: folder.dir, env };
  return { receiver, how, enrich: ['enrich', folder.input, '--url-column', 'url', '--yes'] };
}

it('a command ends while its receiver hangs, and the next worker delivers the alert', async () => {
  const { receiver, how, enrich } = await opened(silence);
  const { code, out, err } = await runCommand(enrich, how);
  expect(code).toBe(0);
  expect(receiver.types()).toEqual(['job.done']);
  expect(out + err).not.toContain('secret-of-the-hook');
  const waiting = await runCommand(['alerts', '--undelivered', '--json'], how);
  expect(JSON.parse(waiting.out).alerts).toMatchObject([{ type: 'job.done', deliveries: [{ state: 'waiting' }] }]);
  receiver.answers(status(200));
  const worker = startCommand(['worker'], how);
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  await expect.poll(() => receiver.arrived.length, { timeout: 60_000 }).toBe(2);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(143);
  expect(new Set(receiver.arrived.map(({ alert }) => alert.id)).size).toBe(1);
  expect((await runCommand(['alerts', '--undelivered'], how)).err).toContain('All alerts are delivered.');
});

it('an alert survives the kill of its worker before its delivery', async () => {
  const { receiver, how, enrich } = await opened(silence);
  const first = startCommand(enrich, how);
  onTestFinished(() => void first.child.kill('SIGKILL'));
  await expect.poll(() => receiver.arrived.length, { timeout: 60_000 }).toBe(1);
  first.child.kill('SIGKILL');
  expect(await first.ended).toBeNull();
  receiver.answers(status(200));
  // The claim of the killed process ends by itself; `retry` does not wait for the time of the next attempt.
  await expect
    .poll(async () => (await runCommand(['alerts', 'retry', '--json'], how)).out, { timeout: 90_000, interval: 2000 })
    .toContain('"delivered":1');
  expect(receiver.types()).toEqual(['job.done', 'job.done']);
});

it('alerts test fails with exit code 1 at a receiver that refuses, and with 2 without one', async () => {
  const { receiver, how } = await opened(status(403));
  const refused = await runCommand(['alerts', 'test'], how);
  expect([refused.code, refused.out]).toEqual([1, 'webhook: did not accept the test alert: status 403\n']);
  receiver.answers(status(200));
  expect((await runCommand(['alerts', 'test'], how)).code).toBe(0);
  expect(receiver.types()).toEqual(['alert.test', 'alert.test']);
  const none = await runCommand(['alerts', 'test'], { cwd: how.cwd });
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('There is no receiver of alerts')]);
});
