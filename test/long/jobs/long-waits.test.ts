import { writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { fetchPage } from '../../../src/activities/events/follow-cursor.js';
import { createTransport } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { BodyMemory } from '../../../src/core/purchase/body-memory.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { startService } from '../../service/service.mjs';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

/** The longest time that a command may wait without a message, with a tolerance for a slow machine. */
const REPORTED_WITHIN_MS = 10_000 + 1500;
const soon = { timeout: 60_000, interval: 10 };

/** Runs commands in a folder of their own. */
function commands(url: string, folder = new Folder()) {
  const env = {
    SEARCHFLOW_API_KEY: 'key-of-the-waits',
    SEARCHFLOW_BASE_URL: url,
    SEARCHFLOW_STATE_DIR: folder.stateDir,
    SEARCHFLOW_TASK_QUEUE: folder.dir,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace as string,
    XDG_STATE_HOME: folder.dir,
  };
  const run = (...args: string[]) => startCommand(args, { cwd: folder.dir, env });
  return { folder, run };
}

// Each test has a service, a folder and a worker of its own and mostly waits, so the tests run in parallel.
it.concurrent.for([
  ['that never comes', { kind: 'stall', moment: 'headers', ms: 60_000 }],
  ['that drips', { kind: 'drip', bytes: 1, everyMs: 200 }],
] as const)(
  '[66] a wait for an answer (%s) is shown within 10 s, with its duration',
  async ([, action], { expect, onTestFinished }) => {
    const sandbox = await startSandbox({ failureRate: 0, faults: [{ when: { nth: 1 }, do: action }] });
    const { folder, run } = commands(sandbox.url);
    folder.write(plainRows(10));
    const command = run('enrich', folder.input, '--into', folder.into);
    onTestFinished(async () => {
      command.child.kill('SIGKILL');
      await command.ended;
      await sandbox.close();
      folder.remove();
    });
    await expect.poll(() => sandbox.log().length, soon).toBe(1);
    const since = performance.now();
    await command.says(/, waiting \d+ s for 1 request$/m);
    expect(performance.now() - since).toBeLessThan(REPORTED_WITHIN_MS);
  },
);

it.concurrent('[66] agent runs that continue after their cancel are shown within 10 s, and delay a command by 15 s at most', async ({
  expect,
  onTestFinished,
}) => {
  const endless = { durationMs: { min: 600_000, max: 600_000 }, keepsRunning: true };
  const service = await startService({ agents: endless });
  const { folder, run } = commands(service.url);
  writeFileSync(folder.input, 'name\nA\nB\nC\n');
  const command = run('agent', 'rows', folder.input, '--query', 'CEO of {{name}}', '--effort', 'low', '--yes');
  onTestFinished(async () => {
    command.child.kill('SIGKILL');
    await command.ended;
    await service.close();
    folder.remove();
  });
  await expect.poll(() => service.agents.inProgress(), soon).toBe(3);
  const since = performance.now();
  await command.says(/, waiting \d+ s for \d runs?$/m);
  expect(performance.now() - since).toBeLessThan(REPORTED_WITHIN_MS);
  const cancel = run('cancel', 'rows');
  expect([await cancel.ended, cancel.err()]).toEqual([0, expect.any(String)]);
  const cancelledAt = performance.now();
  expect([await command.ended, command.err()]).toEqual([
    6,
    expect.stringContaining('3 more did not end and are left running: see agent list'),
  ]);
  expect(performance.now() - cancelledAt).toBeLessThan(15_000);
}, 90_000);

it.concurrent('a wait for a list of events is shown within 10 s, with its duration', async ({
  expect,
  onTestFinished,
}) => {
  // The first request only asks for the service's time, so the second one stalls.
  const stalls = { when: { nth: 2 }, do: { kind: 'stall', moment: 'headers', ms: 60_000 } } as const;
  const sandbox = await startSandbox({ faults: [stalls] });
  const { folder, run } = commands(sandbox.url);
  const command = run('events', 'sync', '--into', folder.into);
  onTestFinished(async () => {
    command.child.kill('SIGKILL');
    await command.ended;
    await sandbox.close();
    folder.remove();
  });
  await expect.poll(() => sandbox.log().length, soon).toBe(2);
  const since = performance.now();
  await command.says(/, waiting \d+ s for 1 request$/m);
  expect(performance.now() - since).toBeLessThan(REPORTED_WITHIN_MS);
}, 60_000);

it.concurrent('fault 57: a walk pauses for a person at a page that a portal answers ten times in a row', async ({
  expect,
}) => {
  const sandbox = await startSandbox({ events: { count: 10 } });
  sandbox.setFaults([{ when: {}, do: { kind: 'body', body: '<html>Sign in</html>' } }]);
  const transport = createTransport({ baseUrl: sandbox.url, apiKey: new Secret('key-of-the-tests') });
  const deps = { transport, limiter: new MemoryLimiter(flatProfile(1000)), origin: 'sandbox', events: null as never };
  const { signal } = new AbortController();
  const options = { signal, careful: false, space: new BodyMemory(), waits: () => undefined };
  await expect(fetchPage(deps, {}, options)).rejects.toMatchObject({
    name: 'ServiceUnrecognized',
    message: expect.stringContaining('the answer is not JSON'),
  });
  expect(sandbox.log()).toHaveLength(10);
  await transport.close();
  await sandbox.close();
});
