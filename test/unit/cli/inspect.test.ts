import { describe, expect, it } from 'vitest';
import type { Output } from '../../../src/api/command-outputs.js';
import { printed } from '../../../src/core/text/printed.js';
import { listen, type RuntimeAnswers } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';

const cwd = folderOfFile();
ofFile(listen);
const type = (line: string, changes: RuntimeAnswers = {}) => typeCommand(cwd, line, changes);

const at = (seconds: string) => Date.parse(`2026-11-21T06:00:${seconds}Z`);
const group = { status: 'error', tag: 'CRAWL_TIMEOUT', rows: 25, units: 24, costMicros: 0, retry: 'free' } as const;
const found: Output<'failed'> = {
  ...{ kind: 'failed', job: 'brands-1', into: '/out.duckdb', rows: 26 },
  byTag: [
    { ...group, why: 'the failure cost nothing' },
    { ...group, status: 'invalid', tag: 'INVALID_URL', rows: 1, units: 0, retry: 'none', why: 'never sent' },
  ],
  listed: [
    {
      ...{ row: 17, status: 'error', tag: 'CRAWL_TIMEOUT', message: 'too slow', httpStatus: 504 },
      ...{ unit: 'https://a.com', input: ['A', 'a.com'], attempts: 2, costMicros: 1500, costIsWhole: true },
      ...{ unknownMicros: 700, requestId: 'req-2', fetchedAt: at('02.000'), retry: 'charged', why: 'it may' },
    },
  ],
};

describe('searchflow failed', () => {
  it('shows the tags with their counts first, then the rows, and how to go on', async () => {
    const { out, asked } = await type('failed brands', { failed: async () => found });
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
    expect(JSON.parse((await type('failed brands --json', { failed: async () => found })).out)).toEqual(printed(found));
  });

  it('says that no row has failed, or none with a tag, and suggests the nearest tag', async () => {
    const none = { ...found, rows: 0, byTag: [], listed: [] };
    expect((await type('failed brands', { failed: async () => none })).err).toBe(
      'No loaded row of brands-1 has failed.\n',
    );
    const tagged: RuntimeAnswers = { failed: async (_, { tags }) => (tags.length > 0 ? none : found) };
    expect((await type('failed brands --tag CRAWL_TIMEOT', tagged)).err).toBe(
      'No failed row of brands-1 has the tag CRAWL_TIMEOT. Did you mean CRAWL_TIMEOUT?\n',
    );
    expect((await type('failed brands --tag ANOTHER --json', tagged)).err).toContain(
      'The tags of failed rows are CRAWL_TIMEOUT, INVALID_URL.',
    );
  });
});

const attempt = { requestId: null, run: null, units: 10, costMicros: null, requestMicros: 10_000 };
const trace: Output<'trace'> = {
  ...{ kind: 'trace', job: 'brands-1', row: 17, state: 'failed', reason: null, jobState: 'done' },
  ...{ source: '/data/brands.csv', operation: 'contents', unit: 'https://a.com', unitKey: 'k1' },
  input: [
    { column: 'name', value: 'A' },
    { column: 'source', value: 'a.com' },
  ],
  sharedWith: { rows: 1, first: [9] },
  slice: { number: 3, segment: 'brands-1/g/000003', afterLimit: false },
  ...{ requests: 2, costMicros: 1000, costIsWhole: true, unknownMicros: 1000 },
  attempts: [
    {
      ...{ ...attempt, at: at('00.000'), endedAt: at('01.500'), job: 'brands-1', outcome: 'unknown' },
      reason: 'the connection was cut',
    },
    {
      ...{ ...attempt, at: at('02.000'), endedAt: at('02.500'), job: 'other-2', outcome: 'landed', reason: null },
      ...{ requestId: 'req-2', costMicros: 1000, requestMicros: 9000 },
    },
  ],
  answer: {
    ...{ at: at('02.500'), status: 'error', tag: 'CRAWL_TIMEOUT', bought: true, bytes: 1234, inJournal: true },
  },
  answerText: null,
  loaded: {
    ...{ into: '/data/out/brands.duckdb', at: at('03.000'), slice: 3, ledgerAt: at('04.000'), status: 'error' },
    ...{ tag: 'CRAWL_TIMEOUT', message: 'too slow', httpStatus: 504, requestId: 'req-2', costMicros: 0 },
    ...{ fetchedAt: at('02.000'), outdatedAt: null, vanishedAt: null, misfits: [] },
  },
  published: { to: 'out/lake', at: at('05.000'), error: null, publish: 'p', rows: 200, changed: true },
  ...{ retry: { retry: 'free', why: 'it may pass' }, problems: [] },
};

describe('searchflow trace', () => {
  const traced = async (changes: Partial<Output<'trace'>>, flags = '--row 17') =>
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
    expect(JSON.parse(await traced({}, '--row 17 --json'))).toEqual(printed(trace));
  });

  it('shows why a row is in its state, misfits, the kept answer, and what cannot be read', async () => {
    const reason = 'the job is paused: the budget is used up: searchflow resume brands-1 --max-cost 9';
    expect(await traced({ state: 'notBought', reason, loaded: null })).toMatch(
      /not bought yet\n {2}Why: {6}the job is paused: the budget is used up: searchflow resume brands-1 --max-cost 9\n/,
    );
    expect(await traced({ state: 'vanished', row: null, slice: null }, '--url https://a.com')).toMatch(
      /^brands-1, a vanished row: vanished from the input/,
    );
    const misfits = [{ column: 'size', value: 'many', expected: 'integer' }];
    const loaded = { ...(trace.loaded as NonNullable<Output<'trace'>['loaded']>), misfits };
    expect(await traced({ loaded })).toMatch(/size \(integer\) is NULL: the value "many" does not fit/);
    const unread = { loaded: null, problems: ['/out.duckdb is open in process 7'], answerText: '{"a":1}' };
    expect(await traced({ ...unread, state: 'landed' }, '--row 17 --answer')).toMatch(
      /^brands-1, row 17: bought; it is not known whether it is loaded\n[\s\S]*Kept answer:\n\{"a":1\}\n {2}Not read: \/out\.duckdb is open in process 7\n/,
    );
  });

  it('needs exactly one name of a row', async () => {
    const refusal = async (flags: string) => (await type(`trace brands ${flags}`)).refusal;
    expect(await refusal('')).toBe('Name the row: --row N, its number in the input, or --url URL.');
    expect(await refusal('--row 1 --url https://a.com')).toBe('--row and --url exclude each other. Pass one of them.');
    for (const row of ['0', '-1', 'x', '1.5'])
      expect(await refusal(`--row ${row}`)).toBe(`--row: ${row} is not the number of a row. Rows are numbered from 1.`);
  });
});
