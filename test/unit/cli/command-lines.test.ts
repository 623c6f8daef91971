import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SpendCaps } from '../../../src/core/purchase/spend.js';
import { WarehouseBusy } from '../../../src/core/rows/warehouse-errors.js';
import { printed } from '../../../src/core/text/printed.js';
import type { JobStatus, NextRun, RuntimeConfig, WorkflowAccess } from '../../../src/worker/config/runtime-types.js';
import type { JobHandle } from '../../../src/worker/control/job-handle.js';
import { schedulesOfRow } from '../../../src/worker/runtime/job-lists.js';
import type { RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import {
  fakeHandle,
  forgetPlan,
  listen,
  plan,
  progress,
  retryPlan,
  spend,
  summary,
} from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';

const cwd = folderOfFile();
const service = ofFile(listen);
beforeAll(async () => {
  writeFileSync(join(cwd, 'in.csv'), 'name;site\nExample;https://example.com\n');
  writeFileSync(join(cwd, 'schema.json'), '{"type":"object"}');
  mkdirSync(join(cwd, 'folder'));
});

const type = (line: string, changes: RuntimeAnswers = {}, env: Record<string, string> = {}) =>
  typeCommand(cwd, line, changes, env);

/** Moves the fake clock until a command has ended. */
async function patiently(ending: ReturnType<typeof type>) {
  const ended = ending.then((one) => ({ one }));
  for (let second = 0; second < 60; second++) {
    const done = await Promise.race([ended, vi.advanceTimersByTimeAsync(1000).then(() => null)]);
    if (done) return done.one;
    await new Promise(setImmediate);
  }
  throw new Error('the command did not end');
}

/** A handle that records its signals, and ends at once. */
function handle(changes: Partial<JobHandle> = {}) {
  const signals: unknown[] = [];
  const noting =
    (name: string) =>
    async (...args: unknown[]) => {
      signals.push(name, ...args);
    };
  const one = fakeHandle({
    pause: noting('pause'),
    cancel: noting('cancel'),
    result: async () => summary,
    ...changes,
  });
  return { signals, one };
}

const listed = {
  ...{ job: 'brands-1', name: 'brands', origin: 'sandbox', input: '/in.csv', into: '/out.duckdb' },
  ...{ startedBy: null, schedules: [] },
};

describe('a command line', () => {
  it('of enrich puts every flag into the plan', async () => {
    const { asked, config, code } = await type(
      `enrich in.csv --op search --query '{{name}}' --num-results 7 --text --highlights --summary why --max-age-hours 720
        --option type=fast --delimiter semicolon --encoding latin1 --job brands --into out/x.duckdb --csv out.csv --max-cost 1.5
        --max-run-time 90m --refresh-after 2w --retry-failed --rebuy --limit 3 --qps 4 --concurrency 9 --keep-landing 2 --dry-run`,
    );
    expect(asked).toEqual([
      [
        'plan',
        {
          input: 'in.csv',
          operation: 'search',
          template: { query: '{{name}}' },
          options: {
            numResults: 7,
            contents: { text: true, highlights: {}, summary: { query: 'why' }, maxAgeHours: 720 },
            type: 'fast',
          },
          delimiter: ';',
          encoding: 'windows-1252',
          job: 'brands',
          into: 'out/x.duckdb',
          csv: 'out.csv',
          maxCostDollars: 1.5,
          maxRunSeconds: 5400,
          refreshAfterMs: 14 * 86_400_000,
          retryFailed: true,
          rebuy: true,
          limit: 3,
          batch: 100,
        },
      ],
    ]);
    expect(config).toMatchObject({ rate: { qps: 4 }, rateIsShare: true, concurrency: 9, keepLandingMs: 172_800_000 });
    expect(code).toBe(0);
  });

  it.each([
    [
      'enrich in.csv --url-column site --default-scheme https --batch 100',
      { urlColumn: 'site', batch: 100, defaultScheme: 'https' },
    ],
    ['enrich in.csv --batch 1 --retry-failed', { batch: 1, retryFailed: true }],
    ['enrich in.csv --rebuy', { rebuy: true }],
    ['enrich in.csv --reparse', { reparse: true }],
    [
      'agent rows in.csv --query {{name}} --schema schema.json --effort low --rows-per-run 100 --max-cost none',
      {
        operation: 'agent',
        template: { query: '{{name}}' },
        options: { effort: 'low', outputSchema: { type: 'object' } },
        rowsPerRun: 100,
        maxCostDollars: 'none',
      },
    ],
  ])('%s requests exactly that', async (line, request) => {
    const { asked, refusal } = await type(`${line} --dry-run`);
    expect(refusal).toBe('');
    expect(asked[0]).toEqual(['plan', expect.objectContaining(request)]);
  });

  it.each([
    ['enrich folder --sql x', '--sql needs --job NAME.'],
    ['enrich', 'Name a file of rows'],
    ['enrich in.csv --table a --format jsonl', '--table and --format exclude each other. Pass one of them.'],
    ['enrich in.csv --format xlsx', 'Allowed choices are csv, jsonl, parquet'],
    ['enrich https://user:pw@host/x.csv', 'The address has a user or password'],
    ["enrich in.csv --csv ''", "option '--csv <file>' argument '' is invalid. The value is empty."],
    ['export brands', 'Pass --csv FILE'],
    ['publish brands --to out --key name', '--key needs --mode merge'],
    ["publish brands --to ''", "option '--to <target>' argument '' is invalid. The value is empty."],
    ['publish brands --to ftp://host', '--to: the value (not shown) is not a target'],
    ["publish brands --to 'host=db password=canary'", '--to: the value (not shown) is not a target'],
    ['publish brands --to out --from md:x', '--from: the value (not shown)'],
    ['limits sett', "unknown command 'sett' (Did you mean set?)"],
    ['limits set', 'Pass --per-day, --per-month or both'],
    ['schedule backfill nightly', '--from is required'],
    ['schedule backfill nightly --from 2026-11-01 --until 2999-11-01', '--until is in the future'],
    ['events backfill --from 2026-11-01 --type a,,b', '--type: name an event type'],
    ['events backfill --from 2999-01-01', 'in the future'],
    ['events backfill --from 2026-01-01T00:00Z --until 2026-01-01T00:00Z', 'must be before --until'],
    ['agent run why --option query=what', 'QUERY and --option query both set query. Pass one of them.'],
    ['sandbox trigger webset.idle m1 --url http://127.0.0.1:1', 'takes no id'],
    ['sandbox trigger monitor-run --url http://127.0.0.1:1', 'needs the id'],
  ])('%s is refused before anything is opened, with exit code 2', async (line, sentence) => {
    const { code, refusal, config } = await type(line);
    expect(refusal).toContain(sentence);
    expect([code, config]).toEqual([2, undefined]);
  });

  it('of enrich asks before it spends, and reports at the end how many rows failed', async () => {
    const dear = { plan: async () => ({ ...plan, estimateMicros: 20_000_000 }) };
    expect(await type('enrich in.csv', dear)).toMatchObject({
      code: 2,
      refusal: expect.stringContaining('Pass --yes'),
    });
    expect(await type('enrich in.csv --yes', dear)).toMatchObject({ code: 0, refusal: '' });
    expect((await type('enrich in.csv --fail-on-failed-rows 4')).code).toBe(3);
    expect(JSON.parse((await type('enrich in.csv --json')).out)).toHaveProperty('warehouse.rows', 200);
    expect(JSON.parse((await type('enrich in.csv --dry-run --json')).out)).toMatchObject({ kind: 'plan', rows: 200 });
  });

  it('of enrich that only reads answers again buys nothing, and reports its settings', async () => {
    const { err, calls } = await type('enrich in.csv --reparse', {
      plan: async () => ({ ...plan, request: { ...plan.request, reparse: true } }),
      reparse: async () => ({ answers: 12, understood: 9, rows: 30 }),
    });
    expect(err).toContain('brands: 12 answers parsed again, 9 parsed now, 30 rows updated. Nothing was bought.');
    expect(calls).not.toContain('start');
  });

  it('of start on the real service always asks', async () => {
    const { code, asked, config, refusal } = await type('start --live --qps 2');
    expect({ code, refusal }).toEqual({ code: 2, refusal: expect.stringContaining('Pass --yes') });
    expect(asked[0]?.[1]).toMatchObject({ urlColumn: 'source', job: 'brands-live', options: { text: true } });
    expect(config).toMatchObject({ service: 'live', rate: { qps: 2 } });
    const agreed = await type('start --live --yes');
    expect([agreed.code, agreed.asked[0]?.[0]]).toEqual([0, 'work']);
  });

  it('of export checks its targets, writes them, and reports what it wrote', async () => {
    const both = await type('export brands --csv out.csv --parquet dir');
    expect(both.asked).toEqual([
      ['checkTargets', 'brands', { csv: 'out.csv', parquet: 'dir' }],
      ['exportParquet', 'brands', 'dir'],
      ['export', 'brands', 'out.csv', {}],
    ]);
    const formed = await type('export brands --csv out.csv --csv-delimiter tab --no-csv-bom');
    expect(formed.asked.at(-1)).toEqual(['export', 'brands', 'out.csv', { delimiter: '\t', bom: false }]);
    expect(both.err).toBe('200 rows written to /data/dir in 1 file\n200 rows written to /data/out.csv\n');
    expect((await type('export brands --parquet dir')).calls).not.toContain('export');
    const stdout = await type('export brands --csv -', {
      export: async (_, file) => {
        writeFileSync(file, 'name\nExample\n');
        return { rows: 1, bytes: 13, file };
      },
    });
    expect(stdout).toMatchObject({ code: 0, out: 'name\nExample\n', err: '' });
    expect(stdout.asked[0]).toEqual(['checkTargets', 'brands', { parquet: undefined }]);
    expect(readdirSync(join(cwd, '.searchflow', 'scratch'))).toEqual([]);
  });

  it('of publish passes what, where and how, and reports the rows', async () => {
    const merge = await type('publish brands --to out/lake --mode merge --key name --key site --partition day');
    const how = { mode: 'merge', key: ['name', 'site'], partition: 'day' };
    expect(merge.asked).toEqual([['publish', { what: 'brands', from: null, to: 'out/lake', ...how }]]);
    expect(merge.err).toBe('brands: 200 rows published to /data/out/lake\n');
    const { asked, out } = await type('publish events --from out/e.duckdb --to lake --json');
    const usual = { mode: 'replace', key: [], partition: null };
    expect(asked[0]?.[1]).toEqual({ what: 'events', from: 'out/e.duckdb', to: 'lake', ...usual });
    expect(JSON.parse(out)).toMatchObject({ kind: 'publish', target: '/data/lake', changed: true, run: 'run-1' });
    const same = await type('publish brands --to lake', {
      publish: async () => ({ id: 'i', at: '', run: 'r', mode: 'append', target: '/lake', changed: false, tables: [] }),
    });
    expect(same.err).toBe('/lake has these rows of run r already. Nothing was written.\n');
  });

  it('of jobs lists them in columns, or as JSON', async () => {
    const since = Date.now() - 3_600_000;
    const one = { ...listed, rows: 3470, phase: 'paused', since, costMicros: 1_500_000 } as const;
    const none = { rows: null, since: null, costMicros: null };
    const walk = { ...listed, ...none, job: 'events-sync-1', phase: 'waiting' } as const;
    const jobs = { list: async () => [one, walk] };
    expect((await type('jobs', jobs)).out.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^job +state +rows +cost +since {2}from, into$/),
      expect.stringMatching(/^brands-1 +paused +3,470 +\$1\.50 +1 h {2}\/in\.csv, \/out\.duckdb$/),
      expect.stringMatching(/^events-sync-1 +waiting for a worker +\/in\.csv, \/out\.duckdb$/),
    ]);
    expect(JSON.parse((await type('jobs --json', jobs)).out)).toEqual(printed([one, walk]));
    expect((await type('jobs')).err).toContain('No jobs yet');
  });

  it('of jobs lists those in the asked states, and refuses a state that there is not', async () => {
    const in_ = (job: string, phase: JobStatus['phase'] | null, rows: number | null = 1) => ({
      ...{ ...listed, job, phase, rows, since: null, costMicros: null },
    });
    const all = [in_('a', 'paused'), in_('b', 'done'), in_('c', 'waiting', null), in_('d', 'failed'), in_('e', null)];
    const jobs = { list: async () => all };
    const named = async (flags: string) =>
      (JSON.parse((await type(`jobs --json ${flags}`, jobs)).out) as { job: string }[]).map(({ job }) => job).join('');
    expect(await named('--state paused --state failed')).toBe('ad');
    expect(await named('--state waiting')).toBe('c');
    expect(await named("--state 'waiting for a worker'")).toBe('c');
    expect(await named('--state interrupted')).toBe('c');
    expect(await type('jobs --state cancelled', jobs)).toMatchObject({ code: 0, err: 'No job is cancelled.\n' });
    expect(await type('jobs --state pausd --state x', jobs)).toMatchObject({
      code: 2,
      refusal: expect.stringMatching(
        /--state <state>' argument 'pausd' is invalid\. Allowed choices are planning, running, /,
      ),
    });
  });

  it('of jobs shows the next run of each schedule, and says if it is unknown', async () => {
    const at = Date.now() + 2 * 3_600_000 + 30_000;
    const next = { schedule: 'brands', at, isPaused: false };
    const one = { ...listed, rows: 1, phase: 'done', since: null, costMicros: 0 } as const;
    const jobs = (...schedules: NextRun[]) => ({ list: async () => [{ ...one, schedules }] });
    expect((await type('jobs', jobs(next))).out).toMatch(/since +next run {2}from, into\n.* +in 2 h {2}\/in\.csv/);
    expect((await type('jobs', jobs({ ...next, at: null, isPaused: true }))).out).toMatch(/ paused {2}\/in\.csv/);
    const [data] = JSON.parse((await type('jobs --json', jobs(next))).out);
    const iso = new Date(at).toISOString();
    expect(data).toMatchObject({ schedules: [{ schedule: 'brands', at: iso, isPaused: false }] });
    const unknown = { list: async () => [{ ...one, startedBy: 'brands', schedules: null }] };
    const { out, err } = await type('jobs', unknown);
    expect(out).toMatch(/next run {2}from, into\n.* \? {2}\/in\.csv/);
    expect(err).toContain(
      'Next runs are unknown (schedules: brands): the Temporal server of this folder does not answer, or does not have the schedules.',
    );
    expect(err).toContain('To start it, with its schedules:\n  searchflow worker');
    const other = await type('jobs', unknown, { SEARCHFLOW_STORE: 'postgres://ann@127.0.0.1/etl' });
    expect(other.err).toContain('If another server runs them, set TEMPORAL_ADDRESS to it.');
    expect(other.err).not.toContain('searchflow worker');
    const elsewhere = { list: async () => [{ ...one, ...schedulesOfRow('brands', [], true) }] };
    const foreign = await type('jobs --json', elsewhere, {
      TEMPORAL_ADDRESS: 'temporal.internal:7233',
      TEMPORAL_TLS: 'true',
    });
    expect(JSON.parse(foreign.out)).toMatchObject([{ startedBy: 'brands', schedules: null }]);
    expect(foreign.err).toContain(
      '(schedules: brands): the Temporal server at temporal.internal:7233 (TEMPORAL_ADDRESS)',
    );
    expect(schedulesOfRow('brands', [], false)).toEqual({ startedBy: 'brands', schedules: [] });
    expect(schedulesOfRow('brands', [next], true)).toEqual({ startedBy: 'brands', schedules: [next] });
    const away = await type('jobs --json', unknown, {
      TEMPORAL_ADDRESS: 'temporal.internal:7233',
      TEMPORAL_TLS: 'true',
    });
    expect(JSON.parse(away.out)).toMatchObject([{ startedBy: 'brands', schedules: null }]);
    const far = { list: async () => [{ ...one, schedules: null }] };
    const table = await type('jobs', far, { TEMPORAL_ADDRESS: 'temporal.internal:7233', TEMPORAL_TLS: 'true' });
    expect(table.out).toMatch(/next run {2}from, into\n.* \? {2}\/in\.csv/);
    expect((await type('jobs', far)).out).not.toContain('next run');
    expect(away.err).toContain('the Temporal server at temporal.internal:7233 (TEMPORAL_ADDRESS) does not answer');
  });

  it('of pause and cancel says what follows if no worker is running, or the job is paused already', async () => {
    const { signals, one } = handle();
    const as = (phase: JobStatus['phase'], message: string | null = null, next?: JobStatus['next']) => ({
      attach: async () => one,
      status: async (job: string) => ({ job, name: job, phase, message, next, since: null, shown: null }),
    });
    expect((await type('pause brands', as('waiting'))).err).toContain(
      'brands-1 pauses as soon as a worker runs; nothing is sent until then. To resume it:\n  searchflow resume brands',
    );
    expect(signals.splice(0)).toEqual(['pause', { isAbandoned: false }]);
    const usual = 'brands is paused: it is used up. To resume it:\n  searchflow resume brands\n';
    expect(await type('pause brands', as('paused', 'it is used up'))).toMatchObject({ code: 0, err: usual });
    const next = { text: 'To raise it and resume', command: 'resume brands --max-cost 2' };
    expect((await type('pause brands', as('paused', 'it is used up', next))).err).toBe(
      'brands is paused: it is used up. To raise it and resume:\n  searchflow resume brands --max-cost 2\n',
    );
    expect(signals).toEqual([]);
    expect((await type('cancel brands', as('waiting'))).err).toContain(
      'brands-1 is cancelled, but no worker is running. Paid results are kept. To end it:\n  searchflow worker',
    );
    expect(signals.splice(0)).toEqual(['cancel']);
  });

  it('of pause, cancel and resume reaches the named job', async () => {
    const { signals, one } = handle();
    const attach = { attach: async () => one };
    const paused = await type('pause brands', attach);
    expect([paused.code, signals.splice(0)]).toEqual([0, ['pause', { isAbandoned: false }]]);
    expect(paused.asked).toContainEqual(['attach', 'brands']);
    expect(paused.err).toContain('searchflow resume brands');
    const cancelled = await type('cancel brands', attach);
    expect([cancelled.code, signals.splice(0)]).toEqual([0, ['cancel']]);
    expect(cancelled.asked).toContainEqual(['attach', 'brands']);
    expect(cancelled.err).toContain('Paid results are kept. To resume it:\n  searchflow resume brands-1');
    const resumed = await type('resume brands --max-cost 2.5 --qps 3 --json', { resume: async () => one });
    expect(resumed.asked).toEqual(
      expect.arrayContaining([
        ['resume', 'brands', { maxCostDollars: 2.5 }, { detached: false }],
        ['unknownOutcomes', 'brands-1'],
      ]),
    );
    expect(resumed).toMatchObject({ code: 0, config: { rate: { qps: 3 } } });
    expect(JSON.parse(resumed.out)).toMatchObject({ kind: 'summary', phase: 'done' });
  });

  it('of retry passes its rows, asks before it spends, and prints its plan', async () => {
    const run = await type('retry brands --tag CRAWL_TIMEOUT --tag CRAWL_HTTP_503 --max-cost 2 --json');
    expect(run.asked).toEqual(
      expect.arrayContaining([
        ['planRetry', 'brands', { tags: ['CRAWL_TIMEOUT', 'CRAWL_HTTP_503'] }],
        ['retry', retryPlan, { maxCostDollars: 2 }],
      ]),
    );
    expect(JSON.parse(run.out)).toMatchObject({ kind: 'summary', phase: 'done' });
    expect((await type('retry brands --row 7 --row 12')).asked).toContainEqual([
      'planRetry',
      'brands',
      { rows: [7, 12] },
    ]);
    const dear = { planRetry: async () => ({ ...retryPlan, estimateMicros: 20_000_000 }) };
    expect(await type('retry brands', dear)).toMatchObject({ code: 2, refusal: expect.stringContaining('Pass --yes') });
    expect((await type('retry brands --yes', dear)).err).toContain(
      'brands: 5 failed rows, 3 URLs to buy again in 1 request for about $20.00',
    );
    const shown = await type('retry brands --dry-run --json');
    expect(JSON.parse(shown.out)).toMatchObject({ kind: 'retryPlan', rows: 5, toBuy: 3, estimateDollars: 0.003 });
    expect(shown.calls).not.toContain('retry');
    const none = await type('retry brands', { planRetry: async () => ({ ...retryPlan, rows: 0, units: 0 }) });
    expect([none.code, none.err, none.calls.includes('retry')]).toEqual([
      ...[0, expect.stringContaining('Nothing was bought.'), false],
    ]);
  });

  it('of discard passes its rows, and says how to undo it', async () => {
    const done = await type('discard brands --tag CRAWL_TIMEOUT --tag X');
    expect(done.asked).toContainEqual(['discard', 'brands', { tags: ['CRAWL_TIMEOUT', 'X'], undo: false }]);
    expect(done.err).toBe(
      'brands: 5 failed rows are discarded. Now 5 of its rows are discarded, and 0 count as failed.\n' +
        'To undo it:\n  searchflow discard brands --tag CRAWL_TIMEOUT --tag X --undo\n',
    );
    const undone = await type('discard brands --row 7 --undo --json');
    expect(undone.asked).toContainEqual(['discard', 'brands', { rows: [7], undo: true }]);
    expect(JSON.parse(undone.out)).toEqual({
      ...{ kind: 'discarded', job: 'brands-1', name: 'brands', undo: true, rows: 5, discarded: 5, failed: 0 },
    });
    for (const wrong of ['', '--row 0', '--tag A --row 1', '--undo'])
      expect(await type(`discard brands ${wrong}`.trim())).toMatchObject({ code: 2, config: undefined });
  });

  it('of clean says what it removed', async () => {
    const items = [
      { what: 'stages', job: 'brands-1', bytes: 12_400_000 },
      { what: 'logs', job: null, bytes: 40_000 },
    ] as const;
    const clean = async ({ dryRun }: { readonly dryRun: boolean }) => ({
      ...({ kind: 'cleaned', dryRun, items, bytes: 12_440_000 } as const),
      folder: '/data/.searchflow',
      before: 93_000_000,
      after: 80_560_000,
      notes: [],
    });
    const done = await type('clean', { clean });
    expect(done.asked).toContainEqual(['clean', { job: null, olderThanMs: 30 * 86_400_000, dryRun: false }]);
    expect(done.out.trimEnd().split('\n')).toEqual([
      '   12.4 MB  staged rows of brands-1',
      '    0.0 MB  logs',
      'Removed 12.4 MB. The records of purchases are kept.',
      '/data/.searchflow had 93.0 MB and has 80.6 MB now.',
    ]);
    const one = await type('clean brands --older-than 7d --dry-run --json', { clean });
    expect(one.asked).toContainEqual(['clean', { job: 'brands', olderThanMs: 7 * 86_400_000, dryRun: true }]);
    expect(JSON.parse(one.out)).toMatchObject({ kind: 'cleaned', dryRun: true, bytes: 12_440_000, before: 93_000_000 });
    expect((await type('clean --older-than 0s')).out).toContain(
      'Nothing to remove: jobs that ended more than 0 s ago have no staged rows, and no loaded answers older than',
    );
    const kept = async () => ({
      ...(await clean({ dryRun: false })),
      ...{ items: [], bytes: 0 },
      notes: ['Staged rows of brands-1 stay (90 kB): …'],
    });
    expect((await type('clean --older-than 0s', { clean: kept })).out.split('\n').slice(0, 2)).toEqual([
      ...['Note: Staged rows of brands-1 stay (90 kB): …', 'Nothing was removed.'],
    ]);
  });

  it('of forget shows its plan, and removes nothing without a confirmation', async () => {
    const asked = await type('forget brands');
    expect(asked).toMatchObject({ code: 2, refusal: expect.stringContaining('Nothing was removed.\nPass --yes') });
    expect(asked.asked).toContainEqual(['planForget', { job: 'brands' }]);
    expect(asked.err).toContain('Loaded rows:    2 in /data/out/brands.duckdb\nStaged rows:    2 in 1 slice\n');
    expect(asked.calls).not.toContain('forget');
    const shown = await type('forget --url https://example.com --dry-run --json');
    expect(shown.asked).toContainEqual(['planForget', { url: 'https://example.com' }]);
    expect(JSON.parse(shown.out)).toMatchObject({ kind: 'forgotten', state: 'plan', units: 1, rows: 2 });
    const done = await type('forget brands --yes');
    expect(done.out).toContain('Forgot 1 unit, 2 loaded rows, 2 staged rows, 1 answer in the journal (3,000 bytes).');
    expect(done.out).toContain(
      'Not changed: out/published. To publish again:\n  searchflow publish brands-1 --to TARGET',
    );
    const told = await type('forget brands --yes --json');
    expect(JSON.parse(told.out)).toMatchObject({ state: 'done', csvs: ['/data/out/brands.csv'] });
    const none = await type('forget brands --yes', { planForget: async () => ({ ...forgetPlan, isEmpty: true }) });
    expect([none.code, none.calls.includes('forget')]).toEqual([0, false]);
    expect(none.out).toContain('Nothing to forget');
    for (const wrong of ['', 'brands --url https://example.com', '--url a'])
      expect(await type(`forget ${wrong}`.trim())).toMatchObject({ code: 2, config: undefined });
    const { refusal } = await type('forget --url http://jane:hunter2@');
    expect([refusal.includes('--url'), refusal.includes('hunter2')]).toEqual([true, false]);
  });

  it('of enrich does not count discarded rows as failed', async () => {
    const discarded = { ...summary, warehouse: { ...summary.warehouse, discarded: 3, tags: { CRAWL_NOT_FOUND: 2 } } };
    const start = { start: async () => fakeHandle({ result: async () => discarded }) };
    expect((await type('enrich in.csv --fail-on-failed-rows 1', start)).code).toBe(3);
    const ended = await type('enrich in.csv --fail-on-failed-rows 2', start);
    expect([ended.code, ended.err]).toEqual([
      0,
      expect.stringContaining('Discarded or forgotten: 3 rows that do not count as failed.'),
    ]);
  });

  it('of events owns its walk before it starts it, so that Ctrl-C ends it', async () => {
    const config = { origin: 'sandbox', warehouse: null } as unknown as RuntimeConfig;
    const access = { workflows: async () => ({ config, client: {}, shared: false }) as unknown as WorkflowAccess };
    const synced = await type('events sync --into e.duckdb', access);
    const owned = synced.asked.flatMap(([name, work]) => (name === 'own' ? [work] : []));
    expect(owned).toMatchObject([
      { job: expect.stringMatching(/^events-sync/), input: { kind: 'sync', into: join(cwd, 'e.duckdb') } },
    ]);
    const walk = {
      job: 'events-sync-1',
      workflowId: 'searchflow-events-sync-1',
      origin: 'sandbox',
      stream: 'sync',
      into: 'e',
    };
    const resumed = await type('resume events-sync-1', { walks: async () => [walk] });
    expect(resumed.asked).toContainEqual(['own', walk]);
  });

  it('of resume ignores a job of another service, in every form of its name', async () => {
    const one = { ...listed, rows: 1, phase: 'paused', since: 1, costMicros: 1 } as const;
    for (const name of ['brands', 'brands-1']) {
      const { code, refusal, calls } = await type(`resume ${name}`, { known: async () => [one] });
      expect({ code, refusal }).toEqual({ code: 2, refusal: expect.stringContaining('Unset the API key') });
      expect(calls).not.toContain('resume');
    }
    const far = { ...one, origin: 'https://far.example' };
    expect((await type('resume brands', { known: async () => [far] })).refusal).toContain(
      'belongs to https://far.example',
    );
    const here = { ...one, origin: service.url };
    const both = { known: async () => [far, here], resume: async () => handle().one };
    expect((await type('resume brands', both)).code).toBe(0);
  });

  it('of status shows a running job, the reason of a stopped or failed one, or the contents', async () => {
    const withStatus = (changes: Partial<JobStatus>) => ({
      status: async (job: string): Promise<JobStatus> => ({
        ...{ job: `${job}-1`, name: job, phase: 'done', message: null, since: null, shown: null },
        ...changes,
      }),
    });
    const running = withStatus({ phase: 'running', shown: { progress, running: [] } });
    expect((await type('status brands', running)).out).toMatch(/^brands is running\.\n0\/200 rows/);
    expect(JSON.parse((await type('status brands --json', running)).out)).toMatchObject({
      ...{ kind: 'progress', phase: 'running', rows: 200, running: [], since: null },
    });
    const again = withStatus({ phase: 'running', shown: { progress, running: [] }, costMicros: 534_000 });
    expect((await type('status brands', again)).out).toMatch(/\nBought in all runs of the job: \$0\.534\.$/m);
    expect(JSON.parse((await type('status brands --json', again)).out)).toMatchObject({ totalCostMicros: 534_000 });
    const since = Date.now() - 60_000;
    for (const [phase, text] of [
      [
        'failed',
        /^brands failed since \S+ \S+ UTC \(1 min\): the disk is full\. To resume it:\n {2}searchflow resume brands-1\n/,
      ],
      ['stopped', /^brands is stopped since .*: the disk is full\. To resume it:\n {2}searchflow resume brands-1\n/],
      ['paused', /^brands is paused since .*: the disk is full\./],
    ] as const) {
      const ended = withStatus({ phase, message: 'the disk is full', since });
      const shown = await type('status brands', ended);
      expect(shown.out).toMatch(text);
      expect(shown.out).toContain('\nbrands: complete, 200 rows.');
      const signals = JSON.parse((await type('status brands --json', ended)).out);
      expect(signals).toMatchObject({
        kind: 'summary',
        warehouse: { rows: 200 },
        phase,
        since: new Date(since).toISOString(),
        message: 'the disk is full',
      });
    }
    const unopened = withStatus({ phase: 'waiting', since, isUnopened: true });
    expect(await type('status brands', unopened)).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^brands is waiting for a worker since .*\. To run it:\n {2}searchflow worker\nNo worker has read its input yet\.\n$/,
      ),
      asked: [['status', 'brands']],
    });
    expect(JSON.parse((await type('status brands --json', unopened)).out)).toMatchObject({
      kind: 'status',
      phase: 'waiting',
    });
    const { out, asked } = await type('status brands', withStatus({}));
    expect(out).toMatch(/^brands is done\.\nbrands: complete, 200 rows\./);
    expect(asked).toEqual([
      ['status', 'brands'],
      ['summary', 'brands'],
      ['unknownOutcomes', 'brands'],
    ]);
    const busy = {
      ...withStatus({ phase: 'paused' }),
      summary: () => Promise.reject(new WarehouseBusy('warehouse-in-use', 'it is open in node', 7)),
    };
    const locked = await type('status brands', busy);
    expect([locked.code, locked.out]).toEqual([
      0,
      expect.stringContaining('Its rows cannot be counted now: it is open in node'),
    ]);
    expect(JSON.parse((await type('status brands --json', busy)).out)).toMatchObject({
      kind: 'status',
      phase: 'paused',
    });
  });

  it('with status prints after 3 s that the rows cannot be counted, and ends without closing the silent warehouse', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const never = () => new Promise<never>(() => undefined);
    const { code, out, calls } = await patiently(type('status brands', { summary: never, close: never }));
    expect([code, out]).toEqual([
      0,
      'brands is done.\nIts rows cannot be counted now: the warehouse did not answer within 3 s\n',
    ]);
    expect(calls.at(-1)).toBe('close now');
  });

  it.each(['status brands', 'jobs', 'limits', 'usage'])('of %s fails if the store does not answer', async (line) => {
    const shown = 'postgres://127.0.0.1:5432/etl';
    const env = { SEARCHFLOW_STORE: shown };
    // The first line of a command loads its module, which takes real time.
    await type(line);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const never = () => new Promise<never>(() => undefined);
    const silent = { list: never, status: never, spend: never, walks: never, close: never };
    expect(await patiently(type(line, silent, env))).toMatchObject({
      code: 1,
      refusal: `The store ${shown} (SEARCHFLOW_STORE) did not answer within 5 s. Start it, or correct its address.`,
    });
  });

  it('of usage and limits reads the journal of the team', async () => {
    const asked: unknown[] = [];
    const team = {
      spend: async () => ({
        ...spend,
        setCaps: async (caps: Partial<SpendCaps>) => {
          asked.push(caps);
          return { dayMicros: 1_000_000, monthMicros: 20_500_000 };
        },
        usage: async (...args: unknown[]) => {
          asked.push(args);
          return [];
        },
      }),
    };
    const { err } = await type('usage --by day --since 2026-11-01 --until 2026-11-02', team);
    expect(err).toBe('No purchases in this period.\n');
    await type('usage', team);
    await type('limits set --per-day none', team);
    const { err: said } = await type('limits set --per-month 20.50', team);
    await type('limits set --per-day 0 --per-month none', team);
    expect(asked).toEqual([
      ['day', Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 3)],
      ['job', undefined, undefined],
      { dayMicros: null, monthMicros: undefined },
      { dayMicros: undefined, monthMicros: 20_500_000 },
      { dayMicros: 0, monthMicros: null },
    ]);
    expect(said).toContain('at most $1.00 per day, at most $20.50 per month (UTC)');
    expect(JSON.parse((await type('limits --json')).out)).toMatchObject({ kind: 'limits' });
  });

  it.each(['worker', 'dev'])('of %s runs a worker with the given rate', async (name) => {
    const flags = '--rate-profile boost --concurrency 7 --keep-landing 30';
    const { calls, config, err } = await type(`${name} ${flags}`);
    expect(calls).toEqual(['runWorker', 'close drain']);
    expect(config).toMatchObject({ rate: { profile: 'boost' }, rateIsShare: false, concurrency: 7 });
    expect(config?.keepLandingMs).toBe(30 * 86_400_000);
    expect(err).toContain('task queue searchflow. Press Ctrl-C to stop.');
  });
});
