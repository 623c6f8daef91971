import { expect, it, onTestFinished } from 'vitest';
import { silence, startReceiver, status } from '../../support/alerts/receiver.js';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';

/** A folder with rows, and a receiver of alerts. The commands use the sandbox. */
async function opened(first: Parameters<typeof startReceiver>[0]) {
  const folder = Folder.ofTest();
  folder.write(plainRows(20));
  const receiver = await startReceiver(first);
  const env = { SEARCHFLOW_ALERT_URL: receiver.url, SEARCHFLOW_ALERT_ON: 'all', HOME: folder.dir };
  const how = { cwd: folder.dir, env };
  return { receiver, how, enrich: ['enrich', folder.input, '--url-column', 'url', '--yes'] };
}

const soon = { timeout: 90_000, interval: 100 };

it('a command delivers its alert before it ends', async () => {
  const { receiver, how, enrich } = await opened(status(200));
  expect((await runCommand(enrich, how)).code).toBe(0);
  expect(receiver.types()).toEqual(['job.done']);
});

it('a command ends while its receiver hangs, and the next worker delivers the alert', async () => {
  const { receiver, how, enrich } = await opened(silence);
  const { code, out, err } = await runCommand(enrich, how);
  expect(code).toBe(0);
  expect(receiver.types()).toEqual(['job.done']);
  expect(out + err).not.toContain('secret-of-the-hook');
  receiver.answers(status(200));
  const worker = startCommand(['worker'], how);
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  await expect.poll(() => receiver.arrived.length, soon).toBe(2);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(143);
  expect(new Set(receiver.arrived.map(({ alert }) => alert.id)).size).toBe(1);
  // A delivery is no run of a job.
  expect(worker.out() + worker.err()).not.toContain('alert_');
});

it('an alert survives the kill of its worker before its delivery, and the next worker delivers it', async () => {
  const { receiver, how, enrich } = await opened(silence);
  const first = startCommand(enrich, how);
  onTestFinished(() => void first.child.kill('SIGKILL'));
  await expect.poll(() => receiver.arrived.length, soon).toBe(1);
  first.child.kill('SIGKILL');
  expect(await first.ended).toBeNull();
  receiver.answers(status(200));
  const worker = startCommand(['worker'], how);
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  await expect.poll(() => receiver.arrived.length, soon).toBe(2);
  expect(receiver.types()).toEqual(['job.done', 'job.done']);
  worker.child.kill('SIGTERM');
  await worker.ended;
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
