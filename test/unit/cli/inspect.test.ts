import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Attempt } from '../../../src/core/purchase/attempts.js';
import type { LoadedRow, RowPlace } from '../../../src/core/rows/loaded-row.js';
import type { FailedJob, FailedRow } from '../../../src/worker/runtime/failed-rows.js';
import type { RowTrace } from '../../../src/worker/runtime/trace-row.js';
import { listen, plan, type RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';

const cwd = mkdtempSync(join(tmpdir(), 'searchflow-inspect-'));
let service: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  service = await listen();
});
afterAll(() => {
  service.close();
  rmSync(cwd, { recursive: true, force: true });
});
const type = (line: string, changes: RuntimeAnswers = {}) => typeCommand(cwd, line, changes);

const at = Date.UTC(2026, 10, 21, 6);
const iso = '2026-11-21T06:00:00.000Z';
const loaded: LoadedRow = {
  ...{ row: 17, hash: 'h', status: 'error', tag: 'CRAWL_TIMEOUT', message: 'too slow', httpStatus: 504, key: 'k1' },
  ...{ unit: 'https://a.com', input: ['A', 'a.com'], requestId: 'req-2', costMicros: 0, fetchedAt: at + 2000 },
  ...{ generation: 'g', slice: 3, loadedAt: at + 3000, outdatedAt: null, vanishedAt: null },
};
const row: FailedRow = {
  ...loaded,
  ...{ retry: 'charged', why: 'it may have been charged' },
  ...{ attempts: 2, paidMicros: 1500, costIsWhole: true, unknownMicros: 700 },
};
const group = { status: 'error', tag: 'CRAWL_TIMEOUT', rows: 25, units: 24, costMicros: 0 } as const;
const failedJob: FailedJob = {
  ...{ job: 'brands-1', into: '/out.duckdb', unitColumn: 'url', problem: null },
  groups: [
    { ...group, retry: 'free', why: 'the failure cost nothing' },
    { ...group, status: 'invalid', tag: 'INVALID_URL', rows: 1, units: 0, retry: 'none', why: 'never sent' },
  ],
  rows: [row],
};

describe('searchflow failed', () => {
  it('shows the tags with their counts first, then the rows, and how to go on', async () => {
    const { out, asked } = await type('failed brands', { failed: async () => failedJob });
    expect(asked).toEqual([['failed', 'brands', { tags: [], limit: 20 }]]);
    expect(out.trimEnd().split('\n')).toEqual([
      'tag            rows  units   cost  retry',
      'CRAWL_TIMEOUT    25     24  $0.00  free: the failure cost nothing',
      'INVALID_URL       1      0  $0.00  cannot help: never sent',
      '',
      'row 17  CRAWL_TIMEOUT  2 attempts, $0.0015, possibly $0.0007 more  https://a.com',
      '    too slow',
      '… and 25 more rows (--limit, --tag)',
      '',
      'A retry can help 25 rows. To plan it:',
      '  searchflow retry brands-1',
      'To trace a row:',
      '  searchflow trace brands-1 --row 17',
    ]);
  });

  it('prints every field as JSON', async () => {
    const { out } = await type('failed brands --json --limit 1', { failed: async () => failedJob });
    const { byTag, listed, ...rest } = JSON.parse(out);
    expect(rest).toEqual({ kind: 'failed', job: 'brands-1', into: '/out.duckdb', rows: 26 });
    expect(byTag[0]).toEqual({
      ...{ status: 'error', tag: 'CRAWL_TIMEOUT', rows: 25, units: 24, dollars: 0 },
      ...{ retry: 'free', why: 'the failure cost nothing' },
    });
    expect(listed).toEqual([
      {
        ...{ row: 17, status: 'error', tag: 'CRAWL_TIMEOUT', message: 'too slow', httpStatus: 504 },
        ...{ unit: 'https://a.com', input: ['A', 'a.com'], attempts: 2, dollars: 0.0015, dollarsAreWhole: true },
        ...{ unknownDollars: 0.0007, requestId: 'req-2', fetchedAt: '2026-11-21T06:00:02.000Z' },
        ...{ retry: 'charged', why: 'it may have been charged' },
      },
    ]);
  });

  it('says that no row has failed, or none with a tag, and suggests the nearest tag', async () => {
    const none = { ...failedJob, groups: [], rows: [] };
    expect((await type('failed brands', { failed: async () => none })).err).toBe(
      'No loaded row of brands-1 has failed.\n',
    );
    const tagged: RuntimeAnswers = { failed: async (_, { tags }) => (tags.length > 0 ? none : failedJob) };
    expect((await type('failed brands --tag CRAWL_TIMEOT', tagged)).err).toBe(
      'No failed row of brands-1 has the tag CRAWL_TIMEOT. Did you mean CRAWL_TIMEOUT?\n',
    );
    expect((await type('failed brands --tag ANOTHER --json', tagged)).err).toContain(
      'The tags of failed rows are CRAWL_TIMEOUT, INVALID_URL.',
    );
  });

  it('says which process has the warehouse, and refuses a wrong limit', async () => {
    const busy = { ...failedJob, groups: [], rows: [], problem: '/out.duckdb is open in process 7' };
    expect(await type('failed brands', { failed: async () => busy })).toMatchObject({
      code: 1,
      refusal: 'The failed rows of brands-1 cannot be read now: /out.duckdb is open in process 7.',
    });
    for (const limit of ['1001', '-1', 'ten', '1.5'])
      expect(await type(`failed brands --limit ${limit}`)).toMatchObject({
        code: 2,
        refusal: `--limit: ${limit} is not a whole number from 0 to 1000.`,
      });
  });
});

const attempt: Attempt = {
  ...{ segment: 'brands-1/g/000003', operation: 'contents', at, endedAt: at + 1500, outcome: 'unknown' },
  ...{
    requestId: null,
    run: null,
    reason: 'the connection was cut',
    units: 10,
    costMicros: null,
    requestMicros: 10_000,
  },
};
const place: RowPlace = {
  ...{ loaded, ledgerAt: at + 4000, misfits: [], isQuarantined: false, sharing: { rows: 1, first: [9] } },
  published: { to: 'out/lake', error: null, publish: 'p', rows: 200, changed: true, at: at + 5000 },
};
const trace: RowTrace = {
  ...{ job: 'brands-1', staged: plan.staged, row: 17, input: ['A', 'a.com'], unit: 'https://a.com', key: 'k1' },
  ...{ bad: null, slice: { number: 3, segment: 'brands-1/g/000003' }, isAfterLimit: false, place, isPlaceKnown: true },
  answer: null,
  history: {
    attempts: [
      attempt,
      {
        ...{ ...attempt, segment: 'other-2/g/000000', outcome: 'landed', requestId: 'req-2', reason: null },
        ...{ at: at + 2000, endedAt: at + 2500, costMicros: 1000, requestMicros: 9000 },
      },
    ],
    landed: {
      ...{ segment: 'other-2/g/000000', fetchedAt: at + 2500, status: 'error', errorTag: 'CRAWL_TIMEOUT' },
      ...{ isBought: true, bytes: 1234, hasBody: true },
    },
  },
  ...{ state: 'failed', sharing: place.sharing, help: { retry: 'free', why: 'it may pass' } },
  ...{ status: { phase: 'done', message: null }, problems: [] },
};

describe('searchflow trace', () => {
  const traced = async (changes: Partial<RowTrace>, flags = '--row 17') =>
    (await type(`trace brands ${flags}`, { trace: async () => ({ ...trace, ...changes }) })).out;

  it('shows a row from its input to its warehouse', async () => {
    const { out, asked } = await type('trace brands --row 1,017', { trace: async () => trace });
    expect(asked).toEqual([['trace', 'brands', { row: 1017 }]]);
    expect(
      out
        .replace(/\([^()]* ago\)/, '(AGE)')
        .trimEnd()
        .split('\n'),
    ).toEqual([
      'brands-1, row 17: loaded, failed',
      '  Input:    row 17 of /data/brands.csv',
      '            name: A',
      '            source: a.com',
      '  Unit:     contents https://a.com',
      '            shared with row 9; it is bought once for all of them',
      '  Key:      k1',
      '  Slice:    3 (brands-1/g/000003)',
      '  Requests: 2, for $0.001, and at most $0.001 for unknown outcomes',
      '            2026-11-21 06:00:00.000 UTC  unknown outcome after 1.5 s, at most $0.01 for 10 units, the connection was cut',
      '            2026-11-21 06:00:02.000 UTC  answered after 0.5 s, $0.001 of $0.009 for 10 units, request req-2, by the job other-2',
      '  Answer:   2026-11-21 06:00:02.500 UTC (AGE), error CRAWL_TIMEOUT, 1,234 bytes in the journal',
      '  Loaded:   2026-11-21 06:00:03.000 UTC into /data/out/brands.duckdb, slice 3, in the ledger since 2026-11-21 06:00:04.000 UTC',
      '  Row:      error CRAWL_TIMEOUT, HTTP 504: too slow',
      '            answer of 2026-11-21 06:00:02.000 UTC, request req-2',
      '  Publish:  the last publish was to out/lake at 2026-11-21 06:00:05.000 UTC',
      '  Retry:    free: it may pass',
    ]);
  });

  it('says why a row is not bought, invalid, vanished, in quarantine or cannot be read', async () => {
    const none = { attempts: [], landed: null };
    const paused = { phase: 'paused', message: 'the budget is used up' } as const;
    const unbought = { state: 'notBought', place: null, history: none, help: null, status: paused } as const;
    expect(await traced(unbought)).toMatch(/not bought yet\n {2}Why: {6}the job is paused: the budget is used up\n/);
    expect(await traced({ ...unbought, isAfterLimit: true })).toContain(
      'it is after --limit 0; run the command without',
    );
    const bad = { tag: 'INVALID_URL', message: 'line 18' };
    expect(await traced({ state: 'invalid', bad, key: null, history: none })).toContain(
      'Why:      INVALID_URL: line 18\n',
    );
    const gone = { ...place, loaded: { ...loaded, row: null, vanishedAt: at } };
    expect(await traced({ state: 'vanished', row: null, slice: null, place: gone }, '--url https://a.com')).toMatch(
      /^brands-1, a vanished row: vanished from the input.*\n {2}Why: {6}missing from the input since 2026-11-21 06:00:00\.000 UTC\n/,
    );
    const misfits = [{ column: 'size', value: 'many', expected: 'integer' }];
    expect(await traced({ state: 'quarantined', place: { ...place, misfits, isQuarantined: true } })).toMatch(
      /size \(integer\) is NULL: the value "many" does not fit[\s\S]*a row in quarantine is not part of it/,
    );
    const unread = { place: null, isPlaceKnown: false, problems: ['/out.duckdb is open in process 7'] };
    expect(await traced({ ...unread, state: 'landed' })).toMatch(
      /^brands-1, row 17: bought; it is not known whether it is loaded\n[\s\S]*Not read: \/out\.duckdb is open in process 7\n/,
    );
  });

  it('prints every field as JSON', async () => {
    const { attempts, answer, loaded: load, ...rest } = JSON.parse(await traced({}, '--row 17 --json'));
    expect(rest).toEqual({
      ...{ kind: 'trace', job: 'brands-1', row: 17, state: 'failed', reason: null, jobState: 'done' },
      ...{ source: '/data/brands.csv', operation: 'contents', unit: 'https://a.com', unitKey: 'k1' },
      input: [
        { column: 'name', value: 'A' },
        { column: 'source', value: 'a.com' },
      ],
      sharedWith: { rows: 1, first: [9] },
      slice: { number: 3, segment: 'brands-1/g/000003', afterLimit: false },
      ...{ requests: 2, dollars: 0.001, dollarsAreWhole: true, unknownDollars: 0.001 },
      published: { to: 'out/lake', at: '2026-11-21T06:00:05.000Z', error: null, rows: 200 },
      retry: { retry: 'free', why: 'it may pass' },
      problems: [],
      answerText: null,
    });
    expect(attempts[0]).toEqual({
      ...{
        at: iso,
        endedAt: '2026-11-21T06:00:01.500Z',
        job: 'brands-1',
        outcome: 'unknown',
        requestId: null,
        run: null,
      },
      ...{ reason: 'the connection was cut', units: 10, dollars: null, requestDollars: 0.01 },
    });
    const tag = 'CRAWL_TIMEOUT';
    expect(answer).toEqual({
      ...{ at: '2026-11-21T06:00:02.500Z', status: 'error', tag, bought: true, bytes: 1234, inJournal: true },
    });
    expect(load).toEqual({
      ...{
        into: '/data/out/brands.duckdb',
        at: '2026-11-21T06:00:03.000Z',
        slice: 3,
        ledgerAt: '2026-11-21T06:00:04.000Z',
      },
      ...{ status: 'error', tag, message: 'too slow', httpStatus: 504, requestId: 'req-2', dollars: 0 },
      ...{ fetchedAt: '2026-11-21T06:00:02.000Z', outdatedAt: null, vanishedAt: null, misfits: [], quarantined: false },
    });
  });

  it('needs exactly one name of a row', async () => {
    const refusal = async (flags: string) => (await type(`trace brands ${flags}`)).refusal;
    expect(await refusal('')).toBe('Name the row: --row N, its number in the input, or --url URL.');
    expect(await refusal('--row 1 --url https://a.com')).toBe('--row and --url exclude each other. Pass one of them.');
    for (const row of ['0', '-1', 'x', '1.5'])
      expect(await refusal(`--row ${row}`)).toBe(`--row: ${row} is not the number of a row. Rows are numbered from 1.`);
  });
});
