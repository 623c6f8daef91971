import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { ScheduledWork } from '../../../src/core/workflow-input-schemas.js';
import type { RuntimeConfig, WorkflowAccess } from '../../../src/worker/config/runtime-types.js';
import { nextRuns, ScheduleControl } from '../../../src/worker/schedules/schedule-control.js';
import type { RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import { listen, plan } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

// The tests type commands on a real Temporal server without a worker, because they only check the inputs of schedules.
const temporal = temporalOfFile();
const service = ofFile(listen);
const cwd = folderOfFile();
const into = join(cwd, 'out.duckdb');
beforeAll(async () => {
  writeFileSync(join(cwd, 'in.csv'), 'name,url\nExample,https://example.com\n');
});

const soon = { timeout: 20_000, interval: 30 };
const taskQueue = 'nobody-works-here';
const config = () =>
  ({
    origin: service.url,
    taskQueue,
    stateDir: join(cwd, '.searchflow'),
    temporalAddress: temporal.address,
    warehouse: null,
    say: () => undefined,
  }) as unknown as RuntimeConfig;
/** Inputs whose files and servers the commands added to the allowlist. */
const allowed: object[] = [];
const access = (): WorkflowAccess => ({
  client: temporal.client,
  config: config(),
  shared: false,
  allow: async (input) => void allowed.push(input),
});

/** Runs a command line; the schedules that it makes are on the server. */
function type(line: string, changes: RuntimeAnswers = {}) {
  return typeCommand(cwd, line, {
    plan: async (request) => ({ ...plan, request, staged: { ...plan.staged, into } }),
    workflows: async () => access(),
    ...changes,
  });
}

/** The description of a schedule that the server has. */
async function kept(name: string) {
  const { spec, action, policies, state } = await temporal.client.schedule
    .getHandle(`searchflow-schedule-${name}`)
    .describe();
  return { spec, action, policies, state };
}

/** Creates a schedule, which is deleted after the test. */
async function made(name: string, flags: string) {
  onTestFinished(async () => void (await type(`schedule delete ${name}`)));
  return type(`enrich in.csv --into ${into} ${flags} --schedule-name ${name} --yes`);
}

const hour = 3_600_000;

it('enrich --cron creates a schedule with all typed options: time, zone, overlap rule, cost of a run', async () => {
  const flags = `--op search --query {{name}} --delimiter , --job brands --csv out.csv --refresh-after 30d --retry-failed --max-cost 0.5`;
  const { err, code } = await made('daily', `--cron '0 6 * * *' --tz Europe/Berlin ${flags}`);
  expect(code).toBe(0);
  expect(err).toContain('A run now: brands: 200 rows');
  expect(err).toContain(
    'Each run buys new rows of its input, rows older than 30 d, rows that failed for a temporary reason, for at most $0.50',
  );
  expect(err).toMatch(/Schedule daily created: 0 6 \* \* \* \(Europe\/Berlin\); next \S+T0[45]:00:\d\dZ, \S+, \S+\.\n/);
  expect(err).toContain(`No worker answers on task queue ${taskQueue}`);
  const { spec, action, policies } = await kept('daily');
  const [calendar] = spec.calendars ?? [];
  expect([spec.timezone, calendar?.hour, calendar?.minute, spec.intervals ?? []]).toEqual([
    'Europe/Berlin',
    [expect.objectContaining({ start: 6, end: 6 })],
    [expect.objectContaining({ start: 0, end: 0 })],
    [],
  ]);
  expect(spec.jitter).toBe(10_000);
  expect(policies).toMatchObject({ overlap: 'SKIP', catchupWindow: 24 * hour });
  expect(action).toMatchObject({ workflowType: 'scheduledJob', workflowId: 'searchflow-scheduled-daily', taskQueue });
  expect(allowed.splice(0)).toEqual([expect.objectContaining({ input: '/data/brands.csv', into })]);
  expect(action.args).toEqual([
    {
      schedule: 'daily',
      when: '0 6 * * * (Europe/Berlin)',
      workflow: 'enrichCsv',
      workflowId: 'searchflow-brands-1',
      input: {
        input: '/data/brands.csv',
        into,
        origin: service.url,
        operation: 'search',
        template: { query: '{{name}}' },
        options: {},
        batch: 100,
        urlColumn: 'source',
        delimiter: ',',
        job: 'brands',
        csv: join(process.cwd(), 'out.csv'),
        refreshAfterMs: 30 * 24 * hour,
        retryFailed: true,
        maxCostDollars: 0.5,
      },
    },
  ]);
});

it.each([
  ['1m', 60_000, 6000, hour],
  ['6h', 6 * hour, 30_000, 6 * hour],
  ['1w', 168 * hour, 30_000, 24 * hour],
])(
  '--every %s runs at that interval, with a small spread, and catches up on missed runs for a limited time',
  async (every, everyMs, jitter, catchupWindow) => {
    const { err } = await made('often', `--every ${every}`);
    expect(err).toContain('Each run buys new rows of its input, without a cap (set one with --max-cost).');
    const { spec, policies } = await kept('often');
    expect(spec.intervals).toMatchObject([{ every: everyMs }]);
    expect([spec.jitter, policies]).toMatchObject([jitter, { overlap: 'SKIP', catchupWindow }]);
  },
);

it('a schedule without a name is named after its operation and job, and a dry run creates none', async () => {
  onTestFinished(async () => void (await type('schedule delete contents-brands-1')));
  const line = `enrich in.csv --into ${into} --every 1h --max-cost 1 --yes`;
  expect((await type(`${line} --dry-run`)).err).toContain('No schedule was created.');
  expect((await type(line)).err).toContain('Schedule contents-brands-1 created: every 1h');
});

it('the next run of a schedule is found by the job that it starts', async () => {
  onTestFinished(async () => void (await type('schedule delete found')));
  await made('found', '--every 1d');
  const mine = async () =>
    [...((await nextRuns(temporal.client))?.values() ?? [])].flat().find(({ schedule }) => schedule === 'found');
  await expect.poll(mine, soon).toEqual({ schedule: 'found', at: expect.any(Number), isPaused: false });
  expect((await mine())?.at).toBeGreaterThan(Date.now());
  expect((await nextRuns(temporal.client))?.get('searchflow-brands-1')).toContainEqual(await mine());
  await type('schedule pause found');
  await expect.poll(mine, soon).toMatchObject({ at: null, isPaused: true });
});

it('the same command again changes the schedule and keeps a pause, and --every never removes it', async () => {
  await made('mine', '--every 1d');
  await type("schedule pause mine --why 'holidays'");
  expect((await made('mine', '--every 2d')).err).toMatch(/Schedule mine changed: every 2d; it is paused/);
  expect((await kept('mine')).state).toMatchObject({ paused: true, note: 'holidays' });
  expect((await made('mine', '--every never')).err).toBe('Schedule mine deleted.\n');
  expect((await made('mine', '--every never')).err).toBe('Schedule mine not found.\n');
  const dry = await type('enrich in.csv --every 1d --dry-run --json');
  expect([JSON.parse(dry.out).kind, dry.err, dry.code]).toEqual(['plan', 'No schedule was created.\n', 0]);
  expect(await type('enrich in.csv --every 1d')).toMatchObject({
    code: 2,
    refusal: expect.stringContaining('Pass --yes'),
  });
  const gone = await type(`enrich in.csv --every 1d --yes`, {
    plan: async (request) => ({ ...plan, request, staged: { ...plan.staged, into: '/proc/nowhere/out.duckdb' } }),
  });
  expect([gone.code, gone.refusal]).toEqual([2, expect.stringContaining('No schedule was created')]);
});

it('a schedule that names its database without a password reports which workers need it', async () => {
  const note = 'The schedule stores no user or password';
  const withUser = (url: string) => ({
    workflows: async () => ({
      ...access(),
      config: { ...config(), warehouse: { url: { reveal: () => url }, shown: 'x' } } as unknown as RuntimeConfig,
    }),
  });
  for (const [url, shown] of [
    ['postgres://bob@host/db', true],
    ['postgres://host/db', false],
  ] as const) {
    onTestFinished(async () => void (await type('schedule delete far')));
    const { err } = await type('enrich in.csv --every 1d --yes --schedule-name far', withUser(url));
    expect(err.includes(note)).toBe(shown);
  }
});

it('schedules of events sync and monitors export keep their input', async () => {
  onTestFinished(async () => {
    for (const name of ['events', 'runs']) await type(`schedule delete ${name}`);
  });
  const events = await type(
    `events sync --type webset.idle,webset.created --type webset.idle --parallel 3 --into ${into} --every 15m --schedule-name events --json`,
  );
  expect(JSON.parse(events.out)).toMatchObject({
    ...{ kind: 'schedule', made: true, name: 'events', when: 'every 15m', workflow: 'syncEvents' },
    input: { into, origin: service.url, types: ['webset.created', 'webset.idle'], parallel: 3 },
  });
  // `monitors export` also runs an export now, which needs a worker, so the test does not wait for the command's end.
  const runs = type(`monitors export --name news --into ${into} --cron '@daily' --schedule-name runs`);
  const work = async () => ((await kept('runs')).action.args ?? [])[0] as ScheduledWork;
  await expect
    .poll(() => work().catch(() => null), soon)
    .toMatchObject({
      workflow: 'exportMonitorRuns',
      input: { into, filter: { name: 'news' }, origin: service.url },
    });
  const once = temporal.client.workflow.getHandle((await work()).workflowId);
  await expect
    .poll(
      () =>
        once.terminate('by somebody').then(
          () => 'ended',
          () => 'not there',
        ),
      soon,
    )
    .toBe('ended');
  expect(await runs).toMatchObject({ code: 6, refusal: 'by somebody' });
  expect((await kept('runs')).spec.timezone ?? 'UTC').toBe('UTC');
  await expect
    .poll(
      async () =>
        (await type('schedule list')).out
          .trim()
          .split('\n')
          .map((line) => line.split(/ +/)[0]),
      soon,
    )
    .toEqual(['events', 'runs']);
  const { out } = await type('schedule show runs');
  expect(out).toMatch(/^Runs: +exportMonitorRuns, as /m);
  expect(out).toMatch(/^Run cost: +free$/m);
});

it('a schedule shows its times, is paused with a reason, and is triggered twice at most: one run now, one queued', async () => {
  await made('nightly', "--cron '30 2 * * *' --max-cost 2");
  const { out } = await type('schedule show nightly');
  expect(out).toMatch(
    /^Schedule: +nightly\nRuns: +enrichCsv, as brands-1\nInput: +\/data\/brands\.csv\nWarehouse: +\S+out\.duckdb\n/,
  );
  expect(out).toMatch(/^Next: +(\S+T02:30:\d\dZ(, )?){5}$/m);
  expect(out).toMatch(/Run cost: +at most \$2\.00\nNo runs yet\.$/m);
  expect((await type('schedule pause nightly')).err).toMatch(
    /^nightly is paused\. To resume it:\n {2}searchflow schedule resume nightly\n/,
  );
  expect((await kept('nightly')).state.note).toMatch(/^by .+, \d{4}-/);
  expect((await type("schedule pause nightly --why 'again'")).err).toMatch(/^nightly is already paused \(by /);
  expect((await type('schedule show nightly')).out).toMatch(/^Next: +paused \(by /m);
  expect((await type('schedule resume nightly')).err).toMatch(
    /^nightly is resumed; next \S+T02:30:\d\dZ\.\nIt runs only while this folder has/,
  );
  expect((await type('schedule trigger nightly')).err).toMatch(/^nightly is starting a run now\. /);
  expect((await type('schedule trigger nightly')).err).toMatch(/^nightly is running; another run starts right/);
  await expect
    .poll(async () => (await type('schedule trigger nightly')).err, soon)
    .toMatch(/another run is queued already; no run was added/);
  const shown = await type('schedule show nightly');
  expect(shown.out).toMatch(/^Queued: +1 run of a backfill or trigger \(a pause does not stop them/m);
  expect(shown.out).toMatch(/^Last runs:\n {2}\S+Z {2}waiting for a worker$/m);
  expect((await type('schedule pause nightly')).err).toContain('Still queued: 1 run of a backfill');
  const data = JSON.parse((await type('schedule show nightly --json')).out);
  expect(data).toMatchObject({
    name: 'nightly',
    job: 'brands-1',
    paused: true,
    next: [],
    queued: 1,
    workflow: 'enrichCsv',
  });
  expect(data.runs).toMatchObject([{ phase: 'waiting', at: expect.stringMatching(/^\d{4}-.*Z$/) }]);
  const run = temporal.client.workflow.getHandle(data.runs[0].workflowId);
  await run.terminate('by somebody');
  await expect
    .poll(
      async () =>
        JSON.parse((await type('schedule show nightly --json')).out).runs.map((one: { phase: string }) => one.phase),
      soon,
    )
    .toEqual(['waiting', 'cancelled']);
});

it('a backfill needs both ends, is limited, and reports which runs it starts', async () => {
  await made('hourly', '--every 1h');
  const control = new ScheduleControl(access());
  // The server starts each run up to half a minute after its scheduled time.
  const found = (from: string, until: string) => control.backfill('hourly', Date.parse(from), Date.parse(until));
  expect(await found('2026-01-01T00:00Z', '2026-01-01T03:01Z')).toBe(4);
  expect(await found('2026-01-01T00:01Z', '2026-01-01T02:59Z')).toBe(2);
  const { err } = await type('schedule backfill hourly --from 2026-01-01 --until 2026-01-01');
  expect(err).toMatch(
    /^hourly is starting 24 runs, one for each scheduled time from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z, one after/,
  );
  // A backfill until today ends at the current time.
  const today = new Date().toISOString().slice(0, 10);
  const { err: soFar } = await type(`schedule backfill hourly --from 1d --until ${today}`);
  const [, until = ''] = / to (\S+Z), one after/.exec(soFar) ?? [];
  expect(Date.now() - Date.parse(until)).toBeGreaterThanOrEqual(0);
  expect(Date.now() - Date.parse(until)).toBeLessThan(60_000);
  const many = await type('schedule backfill hourly --from 2025-01-01 --until 2025-03-01');
  expect([many.code, many.refusal]).toEqual([
    2,
    expect.stringContaining('has 1,440 runs in that range, and a backfill starts at most 1,000'),
  ]);
  const none = await type('schedule backfill hourly --from 2026-01-01T00:10Z --until 2026-01-01T00:20Z');
  expect([none.code, none.refusal]).toEqual([2, expect.stringContaining('has no run in that range')]);
  await expect
    .poll(async () => JSON.parse((await type('schedule show hourly --json')).out).queued, soon)
    .toBeGreaterThan(8);
  expect((await type('schedule show hourly')).out).toMatch(/^Queued: +at least \d+ runs of a backfill/m);
  expect((await type('schedule delete hourly')).err).toContain('Schedule hourly deleted.');
  for (const way of ['show', 'pause', 'resume', 'trigger', 'delete'])
    expect(await type(`schedule ${way} hourly`)).toMatchObject({
      code: 2,
      refusal: expect.stringContaining('There is no schedule hourly'),
    });
});
