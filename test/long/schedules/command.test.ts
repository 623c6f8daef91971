import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { runCommand, startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startPostgres } from '../../support/postgres-server.mjs';
import { temporalOfFile } from '../../support/temporal.js';

// Each command is a process, and the machine may be busy.
vi.setConfig({ testTimeout: 240_000 });

const temporal = temporalOfFile();
let sandbox: Sandbox;
let folder: Folder;
beforeAll(async () => {
  sandbox = await startSandbox();
  folder = new Folder();
  folder.write(plainRows(20));
});
afterAll(async () => {
  await sandbox?.close();
  folder?.remove();
});

/** Runs the command without a terminal, with a key, so that it uses the real service. */
function run(...args: string[]) {
  return runCommand(args, surroundings());
}

function start(...args: string[]) {
  return startCommand(args, surroundings());
}

function surroundings() {
  const env = {
    SEARCHFLOW_API_KEY: 'key-of-the-schedules',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STATE_DIR: join(folder.dir, 'state'),
    SEARCHFLOW_TASK_QUEUE: folder.dir,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace as string,
    XDG_STATE_HOME: folder.dir,
  };
  return { cwd: folder.dir, env };
}

it('a schedule is created after its cost was shown, listed, shown, paused, triggered, backfilled and deleted', async () => {
  const flags = ['--into', 'out.duckdb', '--refresh-after', '30d', '--max-cost', '0.50', '--schedule-name', 'daily'];
  const made = await run('enrich', folder.input, '--cron', '0 6 * * *', '--tz', 'Europe/Berlin', ...flags);
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('20 URLs to buy in 1 request for about $0.02')]);
  expect(made.err).toContain('Each run buys new rows of its input, rows older than 30 d, for at most $0.50');
  expect(made.err).toMatch(
    /Schedule daily created: 0 6 \* \* \* \(Europe\/Berlin\); next \d{4}-\d\d-\d\dT0[45]:00:\d\dZ, /,
  );
  expect(made.err).toContain('No worker answers on task queue');
  const changed = await run('enrich', folder.input, '--every', '6h', ...flags, '--json');
  expect(JSON.parse(changed.out)).toMatchObject({
    ...{ kind: 'schedule', made: false, name: 'daily', when: 'every 6h', workflow: 'enrichCsv' },
    input: { input: folder.input, refreshAfterMs: 30 * 86_400_000, maxCostDollars: 0.5, origin: sandbox.url },
  });
  await expect
    .poll(async () => (await run('schedule', 'list')).out, { timeout: 30_000 })
    .toMatch(/^daily +every 6h +next \S+Z +no runs yet\n$/);
  expect((await run('schedule', 'pause', 'daily', '--why', 'holidays')).err).toContain('schedule resume daily');
  const again = await run('schedule', 'pause', 'daily', '--why', 'something else');
  expect([again.code, again.err]).toEqual([0, expect.stringContaining('daily is already paused (holidays)')]);
  expect((await run('schedule', 'show', 'daily')).out).toMatch(
    /Next: +paused \(holidays\)\nRun cost: +at most \$0\.50\nNo run/,
  );
  expect((await run('schedule', 'resume', 'daily')).err).toMatch(/daily is resumed; next \d{4}/);
  expect((await run('schedule', 'trigger', 'daily')).err).toMatch(
    /daily is starting a run now\. .*\n.*No worker answers/s,
  );
  // No worker runs the run that was triggered first, so a second run waits for its end.
  expect((await run('schedule', 'trigger', 'daily')).err).toContain('another run starts right after it');
  expect((await run('schedule', 'trigger', 'daily')).err).toContain('no run was added');
  expect((await run('schedule', 'pause', 'daily')).err).toMatch(
    /daily is paused\. .*\n.*\nStill queued: 1 run of a backfill or trigger \(a pause does not stop them/,
  );
  const never = await run(
    'schedule',
    'backfill',
    'daily',
    '--from',
    '2025-12-31T23:00Z',
    '--until',
    '2025-12-31T23:59Z',
  );
  expect([never.code, never.err]).toEqual([2, expect.stringContaining('daily has no run in that range')]);
  const long = await run('schedule', 'backfill', 'daily', '--from', '2025-01-01', '--until', '2025-12-31');
  expect([long.code, long.err]).toEqual([
    2,
    expect.stringContaining(
      'daily has 1,460 runs in that range, and a backfill starts at most 1,000. Give a shorter range',
    ),
  ]);
  const late = await run('schedule', 'backfill', 'daily', '--from', '1d', '--until', '1d');
  expect([late.code, late.err]).toEqual([0, expect.stringMatching(/daily is starting 4 runs, .* one after the other/)]);
  await expect
    .poll(async () => (await run('schedule', 'show', 'daily')).out, { timeout: 30_000 })
    .toMatch(/\nQueued: +5 runs of a backfill or trigger \(a pause does not stop them/);
  expect((await run('schedule', 'trigger', 'daily')).err).toContain(
    'and 5 more runs are queued already; no run was added',
  );
  expect((await run('schedule', 'delete', 'daily')).err).toContain('Schedule daily deleted');
  const gone = await run('schedule', 'show', 'daily');
  expect([gone.code, gone.err]).toEqual([2, expect.stringContaining('There is no schedule daily')]);
  expect(sandbox.log()).toEqual([]);
});

it.each([
  [['--every', '1d'], 'Pass --yes to confirm, or --max-cost DOLLARS to set a cap'],
  [['--cron', '99 6 * * *', '--yes'], "--cron: '99' is not a valid minute"],
])('the command refuses enrich with %j in a sentence', async (args, sentence) => {
  const { code, err } = await run('enrich', folder.input, ...args);
  expect([code, err]).toEqual([2, expect.stringContaining(sentence)]);
});

it('the command backfills a day that is not over yet up to now', async () => {
  await run('events', 'sync', '--every', '1h', '--schedule-name', 'hourly');
  const { code, err } = await run('schedule', 'backfill', 'hourly', '--from', '1d', '--until', '0d');
  const until = /T00:00:00Z to (\S+),/.exec(err)?.[1] ?? err;
  expect([code, Date.parse(until)]).toEqual([0, expect.any(Number)]);
  expect(Date.parse(until)).toBeLessThanOrEqual(Date.now());
  await run('schedule', 'delete', 'hourly');
});

it('the command names the workers that need the credentials of a warehouse, which are in no schedule', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const { port } = server;
  const right = await server.database('dw');
  const address = `127.0.0.1:${port}/dw`;
  const every = ['events', 'sync', '--every', '1h', '--into'];
  const refused = await run(...every, right.replace(server.password, 'canary-pw'));
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringMatching(
      /dw refused: password .* No schedule was created\. Correct its address, user or password in --into/,
    ),
  ]);
  const made = await run(...every, right);
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('needs them in SEARCHFLOW_WAREHOUSE_URL')]);
  // An address without a user is not refused, because a worker may have the password.
  const plain = await run(...every, `postgres://${address}`);
  expect([plain.code, plain.err]).toEqual([0, expect.not.stringContaining('SEARCHFLOW_WAREHOUSE_URL')]);
  const name = /Schedule (\S+) (?:created|changed)/.exec(plain.err)?.[1] ?? '';
  expect((await run('schedule', 'show', name)).out).toMatch(/Run cost: +free/);
  const listed = await run('schedule', 'list', '--json');
  expect(listed.out).toContain(`postgres://${address}`);
  expect(refused.err + made.err + listed.out).not.toMatch(/canary-p/);
});

it('the command waits for the database of a warehouse before anything is started or scheduled', async () => {
  const into = ['--into', 'postgres://loader:canary-pw@127.0.0.1:1/dw'];
  const commands = [
    ['events', 'sync', ...into],
    ['enrich', folder.input, '--yes', ...into],
    ['events', 'sync', '--every', '1h', '--schedule-name', 'dead', ...into],
    ['enrich', folder.input, '--every', '1h', '--yes', '--schedule-name', 'dead', ...into],
  ].map((args) => start(...args));
  for (const { says, child } of commands) {
    await says('Waiting for the database postgres://127.0.0.1:1/dw: connect ECONNREFUSED');
    child.kill('SIGINT');
  }
  for (const { ended, err } of commands) {
    expect([await ended, err()]).toEqual([130, expect.stringContaining('Stopped; nothing was bought.')]);
    expect(err()).not.toMatch(/canary-pw| started|created:/);
  }
  expect((await run('schedule', 'show', 'dead')).err).toContain('There is no schedule dead');
});

it('the command creates no schedule whose warehouse is a file that cannot be written', async () => {
  // The file of rows is not a database, so it cannot be the warehouse.
  const files = [join(folder.input, 'events.duckdb'), folder.dir, folder.input];
  const tries = await Promise.all(files.map((into) => run('events', 'sync', '--every', '1h', '--into', into)));
  for (const { code, err } of tries)
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/--into: .* (cannot be written|is a folder|is not a DuckDB)/),
    ]);
});
