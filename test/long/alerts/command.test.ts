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
