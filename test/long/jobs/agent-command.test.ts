import { expect, it } from 'vitest';
import { type Service, startService } from '../../service/service.mjs';
import { commandFolder } from '../../support/jobs/command-folder.js';

const soon = { timeout: 60_000, interval: 10 };
const long = { min: 600_000, max: 600_000 };
const QUERY = ['agent', 'run', 'Who makes this?', '--effort', 'low', '--qps', '50', '--json'];

function commands(service: Service) {
  const { folder, start } = commandFolder(service);
  return { folder, run: (...args: string[]) => start(args) };
}
const followed = (service: Service) =>
  expect.poll(() => [...service.agents.runs.values()].some(({ reads }) => reads > 0), soon).toBe(true);

it('Ctrl-C leaves the run running; the same command takes it over, and others list and cancel it', async () => {
  const service = await startService({ agents: { durationMs: long } });
  const { run } = commands(service);
  const first = run(...QUERY);
  await followed(service);
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(130);
  expect(first.err()).toContain("To resume:\n  searchflow agent run 'Who makes this?' --effort low --qps 50 --json");
  expect(service.agents.inProgress()).toBe(1);
  const list = run('agent', 'list');
  expect(await list.ended).toBe(0);
  expect(list.out()).toMatch(/agent_run_000001 +running .*Who makes this\?/);
  const second = run(...QUERY);
  await expect.poll(() => [...service.agents.runs.values()].some(({ reads }) => reads > 3), soon).toBe(true);
  const cancel = run('agent', 'cancel', 'agent_run_000001');
  expect(await cancel.ended).toBe(0);
  expect(cancel.err()).toContain('agent_run_000001: cancelled; cost $0.25.');
  expect(await second.ended).toBe(6);
  expect(JSON.parse(second.out())).toMatchObject({ runId: 'agent_run_000001', status: 'cancelled', costDollars: 0.25 });
  expect(service.agents.starts).toHaveLength(1);
});
