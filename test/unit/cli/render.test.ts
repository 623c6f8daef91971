import { describe, expect, it } from 'vitest';
import { badRowLines } from '../../../src/cli/progress/plan.js';
import {
  blockedText,
  ProgressView,
  progressBar,
  progressText,
  rowProgress,
} from '../../../src/cli/progress/progress.js';
import { type Ending, summaryText } from '../../../src/cli/progress/summary.js';
import { count, dollars, duration, printable, printableLines, some } from '../../../src/cli/text.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import type { JobProgress, JobSummary, SliceHeartbeat } from '../../../src/core/row-job-schemas.js';
import { plan as planned } from '../../support/cli/fake-runtime.js';
import { fakeTerminal } from '../../support/cli/fake-terminal.js';
import { idleView } from '../../support/idle-view.js';

const progress: JobProgress = {
  phase: 'running',
  pausedFor: null,
  message: null,
  job: 'brands-1',
  rows: 1000,
  rowsDone: 400,
  slices: 10,
  slicesDone: 4,
  failed: 0,
  requests: 4,
  costMicros: 400_000,
  earlierMicros: 0,
  unknownOutcomes: 0,
  startedAt: 0,
};
const beat: SliceHeartbeat = {
  slice: 5,
  units: 100,
  landed: 50,
  failed: 3,
  costMicros: 50_000,
  earlierMicros: 0,
  waitingFor: null,
};

const summary: JobSummary = {
  job: 'brands-1',
  name: 'brands',
  phase: 'done',
  into: '/data/out/brands.duckdb',
  csv: null,
  warehouse: {
    rows: 103,
    success: 97,
    error: 3,
    invalid: 3,
    missing: 0,
    vanished: 0,
    tags: { CRAWL_TIMEOUT: 1, CRAWL_NOT_FOUND: 2 },
    view: 'brands',
  },
  requests: 2,
  costMicros: 97_000,
  estimateMicros: 97_000,
  totalCostMicros: 97_000,
  unknownOutcomes: 0,
  seconds: 8.21,
};
const ending: Ending = { summary, origin: 'sandbox', badRows: [], unknown: [], bill: null, csv: null, ran: true };

describe('amounts', () => {
  it.each([
    [0, '$0.00'],
    [3_470_000, '$3.47'],
    [1_234_567_890_000, '$1,234,567.89'],
    [1, '$0.000001'],
    [12_500, '$0.0125'],
    [-500_000, '-$0.50'],
  ])('writes %d micro-dollars as %s', (micros, text) => {
    expect(dollars(micros)).toBe(text);
  });

  it.each([
    [0, '0 s'],
    [3.44, '3.4 s'],
    [59.7, '1 min'],
    [61, '1 min 1 s'],
    [7_320, '2 h 2 min'],
    [190_000, '2 d 4 h'],
    [Number.POSITIVE_INFINITY, 'an unknown time'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it('counts with words', () => {
    expect([count(3470), some(1, 'row'), some(0, 'row'), some(2, 'entry', 'entries')]).toEqual([
      '3,470',
      '1 row',
      '0 rows',
      '2 entries',
    ]);
    expect([999, 1000, 1_234_567, -3470, 1234.56, 1234.5678].map(count)).toEqual(
      [999, 1000, 1_234_567, -3470, 1234.56, 1234.5678].map((amount) => amount.toLocaleString('en-US')),
    );
  });
});

describe('printable', () => {
  it('removes escape sequences, controls, direction marks and lone surrogates from foreign text (fault 51)', () => {
    expect(printable('\u001b[31mred\u001b[0m\u001b]8;;http://x\u0007link\u001b]8;;\u0007')).toBe('redlink');
    expect(printable('a\u202eb\u2066c\u200bd\u0000e\u009bf\ud800g')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    expect(printable('one\r\ntwo\tthree')).toBe('one two three');
    expect(printable('x'.repeat(600))).toHaveLength(500);
    expect(printable('Zürich 東京 🙂')).toBe('Zürich 東京 🙂');
  });

  it('keeps the lines of a message apart', () => {
    expect(printableLines('a\u001b[2J\n  b')).toBe('a\n  b');
  });
});

/** Returns the progress of a poll as a plain line; `blocked`: the reason that blocks all calls. */
const textOf = (
  reader: ReturnType<typeof rowProgress>,
  at: number,
  changes: Partial<JobProgress> = {},
  running: readonly SliceHeartbeat[] = [beat],
  blocked: string | null = null,
) => progressText(reader.line(at, { ...progress, ...changes }, running, blocked));

describe('rowProgress', () => {
  it('adds the landed rows of running slices to the loaded rows', () => {
    expect(textOf(rowProgress(), 0)).toBe('450/1,000 rows (45%), $0.45, 3 failed');
  });

  it('shows under a cap only the cost that the cap limits, and names the cost of runs that an earlier run started', () => {
    const shown = (changes: Partial<JobProgress>) => textOf(rowProgress(), 0, { failed: 0, ...changes }, []);
    expect(shown({ costMicros: 200_000, maxCostMicros: 100_000 })).toContain('rows (40%), $0.20 of $0.10');
    const earlier = { costMicros: 200_000, earlierMicros: 150_000 };
    expect(shown({ ...earlier, maxCostMicros: 100_000 })).toContain(
      '$0.05 of $0.10 plus $0.15 for runs started earlier',
    );
    expect(shown({ ...earlier, maxCostMicros: null })).toMatch(/, \$0\.20$/);
    const running = [{ ...beat, failed: 0, costMicros: 50_000, earlierMicros: 50_000 }];
    expect(textOf(rowProgress(), 0, { failed: 0, ...earlier, maxCostMicros: 100_000 }, running)).toContain(
      '$0.05 of $0.10 plus $0.20 for runs started earlier',
    );
  });

  it('measures the speed over the last seconds and never counts backwards', () => {
    const reader = rowProgress();
    textOf(reader, 0, { rowsDone: 0 }, []);
    expect(textOf(reader, 10_000)).toBe('450/1,000 rows (45%), 45 rows/s, 13 s left, $0.45, 3 failed');
    expect(textOf(reader, 10_250, {}, [])).toMatch(/^450\/1,000 rows .* \$0\.45, 3 failed$/);
    const speed = (text: string) => Number(/, ([\d.]+) rows\/s/.exec(text)?.[1]);
    expect(speed(textOf(reader, 40_000, {}, []))).toBeLessThan(45);
    const idle = textOf(reader, 60_000, {}, []);
    expect(speed(idle)).toBe(0);
    expect(idle).not.toContain('left');
  });

  it('shows why a cancelled job has not ended yet', () => {
    const message = 'cancelled: its runs at the service are being ended';
    expect(rowProgress().line(0, { ...progress, message }, [], null).waits).toBe(message);
    expect(rowProgress().line(0, { ...progress, message: null }, [], null).waits).toBeNull();
  });

  it('shows a block before any other reason to wait', () => {
    const limits = {
      ...idleView(flatProfile(10)),
      blockedUntil: 5_500,
      blockReason: 'POST /contents: 429 Too Many Requests (request id 1, retry in 3 s)',
      waiting: 2,
    };
    const running = [beat, { ...beat, waitingFor: 'the warehouse' }];
    const reader = rowProgress();
    const blocked = `blocked for 3 s by ${limits.blockReason}`;
    expect(blockedText(limits, 3_000)).toBe(blocked);
    expect(reader.line(3_000, progress, running, blocked).waits).toBe(blocked);
    // The speed before the block tells nothing about the time to the end.
    const timeLeft = expect.stringMatching(/ left$/);
    const later = { ...progress, rowsDone: progress.rowsDone + 100 };
    expect(reader.line(4_000, later, running, blocked).facts).not.toContainEqual(timeLeft);
    expect(reader.line(4_000, later, running, null).facts).toContainEqual(timeLeft);
    expect(blockedText(limits, 6_000)).toBeNull();
    expect(reader.line(6_000, progress, running, null).waits).toBe('the warehouse');
  });
});

describe('progress lines', () => {
  const { colors } = fakeTerminal().terminal;
  /** A line of a job that has been measured for 10 s. */
  const lineOf = (changes: Partial<JobProgress> = {}, waitingFor: string | null = null) => {
    const reader = rowProgress();
    reader.line(0, { ...progress, rowsDone: 0 }, [], null);
    return reader.line(10_000, { ...progress, ...changes }, [{ ...beat, waitingFor }], null);
  };
  const doneOf = (rows: number) => rowProgress().line(0, { ...progress, rowsDone: rows }, [], null);

  it('shows rows, speed, time left, dollars, failures and the reason to wait', () => {
    const waiting = lineOf({}, 'waiting for PID 1234 to release out/x.duckdb');
    expect(progressText(waiting)).toBe(
      '450/1,000 rows (45%), 45 rows/s, 13 s left, $0.45, 3 failed, waiting for PID 1234 to release out/x.duckdb',
    );
    expect(progressBar(waiting, 160, colors)).toBe(
      '██████████░░░░░░░░░░░░░░ 45%  450/1,000 rows  45 rows/s  13 s left  $0.45  3 failed  waiting for PID 1234 to release out/x.duckdb',
    );
  });

  it.each([20, 40, 60, 80, 100, 200])('is never wider than a terminal of %d columns', (columns) => {
    const line = progressBar(lineOf({}, 'a very long reason '.repeat(9)), columns, colors);
    expect(line.length).toBeLessThan(columns);
  });

  it('shows how a pause by a person ends', () => {
    const text = progressText(lineOf({ phase: 'paused', pausedFor: 'person' }));
    expect(text).toContain('searchflow resume');
    expect(text).not.toContain('left');
  });

  it('writes a plain line every 5 s or 10 % if stderr is no terminal, without any escape', () => {
    const { terminal, err } = fakeTerminal();
    const view = new ProgressView(terminal);
    for (let tick = 0; tick <= 40; tick++) view.update(doneOf(400 + tick), tick * 250);
    expect(
      err()
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['400/1,000', '420/1,000', '440/1,000']);
    view.update(doneOf(500), 10_250);
    expect(err()).toContain('500/1,000 rows (50%)');
    expect(err()).not.toContain('\u001b');
  });

  it('writes a changing text every 10 s if stderr is no terminal, and redraws it on one', () => {
    const { terminal, err } = fakeTerminal();
    const view = new ProgressView(terminal);
    for (let second = 0; second <= 25; second++) view.update(`run_1: running, ${second} s`, second * 1000);
    expect(err()).toBe('run_1: running, 0 s\nrun_1: running, 10 s\nrun_1: running, 20 s\n');
    const live = fakeTerminal({ tty: true });
    const redrawn = new ProgressView(live.terminal);
    for (const text of ['one', 'two']) redrawn.update(text, 0);
    expect(live.err()).toBe('one\r\u001b[2Ktwo');
  });

  it('redraws one line on a terminal and writes notes above it', () => {
    const { terminal, err } = fakeTerminal({ tty: true, env: { NO_COLOR: '1' } });
    const view = new ProgressView(terminal);
    view.update(lineOf(), 0);
    terminal.say('starting the Temporal server');
    view.end();
    const bar = progressBar(lineOf(), 100, colors);
    expect(err()).toBe(`${bar}\r\u001b[2Kstarting the Temporal server\n${bar}\r\u001b[2K`);
  });
});

describe('summary', () => {
  it('counts the values that do not fit their columns, by column', () => {
    const of = (misfits: Record<string, number>) =>
      summaryText({ ...ending, summary: { ...summary, warehouse: { ...summary.warehouse, misfits } } });
    expect(of({ size: 1 })).toContain('\n1 value does not fit its column and is NULL there (table misfits): size 1\n');
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, nth) => [`c${nth}`, nth + 1]));
    expect(of(many)).toContain(
      '\n78 values do not fit their columns and are NULL there (table misfits): c11 12, c10 11,',
    );
    expect(of(many)).toContain(' c2 3, and 2 more columns\n');
    expect(of({})).not.toContain('misfits');
  });

  it('names the way to buy rows again that may succeed later, at the end and in the status', () => {
    const of = (tags: Record<string, number>, ran = true) =>
      summaryText({ ...ending, ran, summary: { ...summary, warehouse: { ...summary.warehouse, tags } } });
    const way = (rows: string, them: string) =>
      `${rows} may succeed later; error_message has the reasons. To buy ${them} again: searchflow retry brands`;
    for (const ran of [true, false])
      expect(of({ INVALID_REQUEST: 185, CRAWL_TIMEOUT: 2, CRAWL_NOT_FOUND: 3 }, ran)).toContain(
        way('187 failed rows', 'them'),
      );
    expect(of({ RESPONSE_SHAPE: 1 })).toContain(way('1 failed row', 'it'));
    expect(of({ CRAWL_NOT_FOUND: 3, RUN_OVERDUE: 1 })).not.toContain('may succeed later');
    const stopped = { ...summary, warehouse: { ...summary.warehouse, missing: 1 } };
    expect(summaryText({ ...ending, summary: stopped })).toContain(
      'To buy it again when the job is complete: searchflow retry brands\n',
    );
    expect(summaryText(ending, { npm_lifecycle_event: 'start' })).toContain(
      'again: npm run -s searchflow -- retry brands\n',
    );
  });

  it('shows rows by status and tag, dollars, requests and files', () => {
    expect(summaryText({ ...ending, csv: '/data/out/brands.csv' }).split('\n')).toEqual([
      'Done: 103 rows of brands in 8.2 s.',
      '         97  success',
      '          3  error',
      '          3  invalid (bad rows, not bought)',
      '            2  CRAWL_NOT_FOUND',
      '            1  CRAWL_TIMEOUT',
      '3 bad rows, loaded with the reason and not bought.',
      '1 failed row may succeed later; error_message has the reasons. To buy it again: searchflow retry brands',
      'Bought with 2 requests for $0.097 (estimate of these requests $0.097).',
      'Written: /data/out/brands.duckdb (view brands), /data/out/brands.csv',
    ]);
  });

  it('compares with the bill of the sandbox', () => {
    expect(summaryText({ ...ending, bill: { micros: 97_000, requests: 2 } })).toContain(
      "The sandbox's bill matches: $0.097, 2 requests.",
    );
    expect(summaryText({ ...ending, bill: { micros: 99_000, requests: 3 } })).toContain('with lost answers: $0.099');
  });

  it('reports a run whose requests the service refused, and does not claim that nothing was left to buy', () => {
    const text = summaryText({ ...ending, summary: { ...summary, requests: 0, costMicros: 0, failed: 20 } });
    expect(text).toContain('Nothing was bought in this run: no request succeeded, and 20 units failed; $0.097 over');
    expect(text).not.toMatch(/No request was sent|left to buy/);
  });

  it('reports that a run had nothing to buy', () => {
    const text = summaryText({ ...ending, summary: { ...summary, requests: 0, costMicros: 0 } });
    expect(text).toContain('Nothing was bought in this run: nothing was left to buy; $0.097 over all runs of the job.');
  });

  it('counts the runs that are left running, and does not claim that nothing was sent', () => {
    const warehouse = { ...summary.warehouse, error: 5, tags: { RUN_OVERDUE: 5 } };
    const left = { ...ending, summary: { ...summary, warehouse, requests: 0, costMicros: 0, totalCostMicros: 0 } };
    const text = summaryText(left);
    expect(text).toContain('Nothing was charged in this run: 5 runs were left running at the service.');
    expect(text).toMatch(/Left running past --max-run-time: 5 runs; .* To follow them again: searchflow retry brands/);
    expect(text).not.toContain('nothing was left to buy');
    const staged = { ...planned.staged, rowsPerRun: 3 };
    expect(summaryText({ ...left, plan: { ...planned, staged } })).toContain('the runs of 5 rows were left running');
  });

  it('lists the first ten bad rows with line and column, and unknown outcomes, and counts the rest', () => {
    const badRows = Array.from({ length: 12 }, (_, index) => ({
      row: index + 1,
      tag: 'INVALID_URL',
      message: `line ${index + 2}, column 2 ("url"): "\u001b[1mx" is no URL`,
    }));
    const lines = badRowLines(badRows, 30);
    expect(lines).toHaveLength(12);
    expect(lines[1]).toBe('  row 1: line 2, column 2 ("url"): "x" is no URL [INVALID_URL]');
    expect(lines.at(-1)).toBe('  and 20 more');
    const outcome = {
      book: 'b',
      operation: 'contents',
      keys: ['a', 'b'],
      intendedAt: 0,
      reason: 'connection reset',
      estimateMicros: 2000,
    };
    const text = summaryText({ ...ending, unknown: Array.from({ length: 11 }, () => outcome) });
    expect(text).toContain('11 unknown outcomes (sent, no answer, possibly charged: at most $0.022):');
    expect(text).toContain('  1970-01-01T00:00:00.000Z contents of 2 URLs, at most $0.002: connection reset');
    expect(text).toContain('  and 1 more (table unknown_outcomes)');
  });

  it('shows the state of a job that is only watched', () => {
    const watched = { ...ending, ran: false };
    expect(summaryText(watched)).toContain('brands: complete, 103 rows.');
    expect(summaryText(watched)).toContain('Bought in all: $0.097.');
    const open = { ...watched, summary: { ...summary, warehouse: { ...summary.warehouse, missing: 7 } } };
    expect(summaryText(open)).toContain('brands: 96 of 103 rows loaded.');
  });
});
