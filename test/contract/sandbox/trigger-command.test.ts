import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { get, post } from '../../support/sandbox/client.js';
import { eventually } from '../../support/sandbox/eventually.js';

const cwd = tmpdir();
let command: ReturnType<typeof startCommand>;
let sandbox: { url: string };
beforeAll(async () => {
  const flags = [
    '--events',
    '100',
    '--agent-run-ms',
    '1-5',
    '--set',
    'agentRuns.failureRate=1',
    '--monitor-clock',
    '60',
  ];
  command = startCommand(['sandbox', ...flags, '--set', 'monitors={"durationMs":0}'], { cwd });
  await command.says('until Ctrl-C');
  sandbox = { url: command.out().trim() };
});
afterAll(async () => {
  command.child.kill('SIGINT');
  await command.ended;
});
const trigger = (...args: string[]) => runCommand(['sandbox', 'trigger', ...args, '--url', sandbox.url], { cwd });

test('the command creates events and monitor runs in a running sandbox', async () => {
  const { code, out } = await trigger('webset.idle', '--count', '2');
  const ids = out.trim().split('\n');
  expect([code, ids.length]).toEqual([0, 2]);
  expect((await get(sandbox, '/websets/v0/events?limit=2')).json.data.map(({ id }: { id: string }) => id)).toEqual(
    ids.toReversed(),
  );
  const monitor = { search: { query: 'q' }, webhook: { url: 'https://hooks.example/' } };
  const { id } = (await post(sandbox, '/monitors', monitor)).json;
  expect((await trigger('monitor-run', id)).out).toMatch(/^monitor_run_/);
  expect((await trigger('disable-monitor', id)).code).toBe(0);
  const refused = await trigger('monitor-run', id);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('disabled')]);
});

test('the flags set the options, and mistakes are reported in a sentence', async () => {
  const run = (await post(sandbox, '/agent/runs', { query: 'q' })).json;
  await eventually(async () => (await get(sandbox, `/agent/runs/${run.id}`)).json.status).toBe('failed');
  const wrong = [
    ['trigger', 'webset.burned', '--url', sandbox.url],
    ['trigger', 'monitor-run', '--url', sandbox.url],
    ['trigger', 'webset.idle'],
    ['trigger', 'webset.idle', '--count', 'x', '--url', sandbox.url],
    ['--set', 'nothing'],
    ['--set', 'agentRuns.speed=1'],
    ['--agent-run-ms', 'x'],
  ];
  for (const args of wrong) {
    const { code, err } = await runCommand(['sandbox', ...args], { cwd });
    expect([args, code, err]).toEqual([args, 2, expect.not.stringMatching(/\n {4}at /)]);
  }
});
