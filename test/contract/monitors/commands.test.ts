import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startedByCommand } from '../../../src/worker/control/work-owners.js';
import { typeCommand, workingWith } from '../../support/cli/type-command.js';
import { MonitorSetting } from '../../support/monitors/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

// The tests use real servers and workers, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

const temporal = temporalOfFile();

const definition = {
  name: 'launches',
  search: { query: 'product launches' },
  webhook: { url: 'https://hooks.example/launches' },
};

/** The command and a worker on a strict service. */
async function open() {
  const setting = await MonitorSetting.open(temporal);
  const { server, folder, config } = setting;
  const write = (name: string, value: object) => writeFileSync(join(folder.dir, name), JSON.stringify(value));
  write('definition.json', definition);
  const parts = workingWith(temporal.client, config);
  const env = { SEARCHFLOW_API_KEY: server.key, SEARCHFLOW_BASE_URL: server.url };
  const run = async (...args: string[]) => {
    const { code, out, err, refusal } = await typeCommand(folder.dir, ['monitors', ...args], parts, env);
    return { code, out, err: err + refusal };
  };
  return { setting, server, folder, write, run };
}

it('monitors are created, changed, listed, paused, triggered and deleted by the command', async () => {
  const { server, write, run } = await open();
  const made = await run('create', 'definition.json', '--secret-file', 'secrets/hooks.json');
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('webhook secret is in')]);
  const id = made.out.trim();
  expect(server.monitors.records.get(id)).toMatchObject({ name: 'launches' });
  write('changes.json', { name: 'renamed', metadata: { team: 'growth' } });
  expect(JSON.parse((await run('update', id, 'changes.json')).out)).toMatchObject({ id, name: 'renamed' });
  expect((await run('list', '--metadata', 'team=growth')).out).toMatch(new RegExp(`renamed +active +${id}`));
  const paused = await run('pause', '--metadata', 'team=growth', '--yes', '--json');
  const effect = { affected: 1, missed: 0, others: 0 };
  expect(JSON.parse(paused.out)).toMatchObject({ phase: 'done', decision: { approved: true, why: '--yes' }, effect });
  expect(JSON.parse((await run('get', id)).out)).toMatchObject({ status: 'paused' });
  expect(JSON.parse((await run('trigger', id)).out)).toEqual({ triggered: true });
  expect((await run('delete', id)).err).toContain('Pass --yes');
  expect((await run('delete', id, '--yes')).code).toBe(0);
  expect(server.monitors.records.size).toBe(0);
  const gone = await run('get', id);
  expect([gone.code, gone.err]).toEqual([1, expect.stringMatching(/404/)]);
});

it('a monitor whose creation was never printed is printed by the same command, and not created again', async () => {
  const { server, folder, run } = await open();
  const create = () => run('create', 'definition.json', '--secret-file', 'secrets/hooks.json');
  const id = (await create()).out.trim();
  // Without this record it looks as if the command had been killed before it printed the monitor.
  rmSync(join(folder.stateDir, 'reported-results'));
  const again = await create();
  expect([again.code, again.out.trim(), again.err]).toEqual([
    0,
    id,
    expect.stringContaining('has created this monitor already'),
  ]);
  expect(server.monitors.records.size).toBe(1);
  const another = await create();
  expect([another.code, another.err]).toEqual([0, expect.not.stringContaining('has created this monitor already')]);
  expect(server.monitors.records.size).toBe(2);
});

it('--yes approves the same batch while it waits for its approval, and reports that its --limit stays', async () => {
  const { setting, server, run } = await open();
  for (let number = 0; number < 5; number++) server.monitors.add({ name: `old ${number}` });
  const waiting = run('delete', '--name', 'old', '--limit', '2', '--wait-for-approval', '--json');
  await expect
    .poll(() => server.log.filter(({ path }) => path === '/monitors/batch').length, { timeout: 20_000 })
    .toBe(1);
  expect(server.monitors.records.size).toBe(5);
  const { code, err } = await run('delete', '--name', 'old', '--limit', '3', '--yes');
  expect([code, err]).toEqual([0, expect.stringMatching(/already running with --limit 2[\s\S]* 5 {2}deleted/)]);
  const approved = await waiting;
  expect(approved.code).toBe(0);
  expect(setting.batchCalls()).toHaveLength(3);
  // The batch does not belong to the command that waits for it, so it would continue after that command's end.
  const { job } = JSON.parse(approved.out) as { readonly job: string };
  const { memo } = await temporal.client.workflow.getHandle(`searchflow-${job}`).describe();
  expect(memo).not.toMatchObject(startedByCommand);
});

it.each([
  [['pause'], 'filter'],
  [['pause', '--metadata', 'team'], 'must be key=value'],
  [['delete', '--yes', '--metadata', 'team=ops', '--metadata', 'team=sales'], "'team' is given twice"],
  [['delete', '--yes', '--name', 'a', '--metadata', '__proto__=x'], '__proto__'],
  [['pause', '--status', 'disabled'], 'must be active or absent'],
  [['unpause', '--name', 'a', '--limit', '501'], 'from 1 to 500'],
  [['delete', '--name', 'a'], '--wait-for-approval'],
  [['create', 'definition.json'], '--secret-file'],
  [['create', 'nowhere.json', '--secret-file', 's'], 'definition: file nowhere.json not found'],
  [['unpause', '--of-schedule', 'weekend', '--name', 'a'], 'without a filter'],
  [['pause', '--name', 'a', '--cron', 'x'], 'must have five fields'],
  [['pause', '--name', 'a', '--every', '1d', '--yes'], 'needs no approval'],
  [['export', '--every', '5'], 'must be a duration'],
])('the command refuses %j in a sentence before anything is sent', async (args, sentence) => {
  const { code, refusal, calls } = await typeCommand(import.meta.dirname, ['monitors', ...args]);
  expect([code, refusal, calls]).toEqual([2, expect.stringContaining(sentence), []]);
});

it.runIf(process.platform === 'linux')(
  'the command refuses a secret file that cannot be created before anything is sent',
  async () => {
    const { server, run } = await open();
    const { code, err } = await run('create', 'definition.json', '--secret-file', '/proc/nowhere/s.json');
    expect([code, err]).toEqual([2, expect.stringMatching(/s\.json cannot be written: ENOENT.* Nothing was sent/)]);
    expect(server.log).toEqual([]);
  },
);
