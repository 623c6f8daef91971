import { describe, expect, it } from 'vitest';
import {
  type InterruptedWalk,
  statusData,
  statusText,
  walkProgress,
  walkText,
} from '../../../src/cli/events/events.js';
import { walkCommand } from '../../../src/cli/events/events-status.js';
import { toRange, toWalkOptions, typesNote } from '../../../src/cli/events/walk.js';
import { progressText } from '../../../src/cli/progress/progress.js';
import type { StreamListing } from '../../../src/core/events/event-warehouse.js';
import { printed } from '../../../src/core/text/printed.js';
import type { WalkProgress, WalkSummary } from '../../../src/core/workflow-result-schemas.js';
import { useFlags } from '../../support/cli/read-flags.js';

const now = Date.parse('2026-11-21T12:00:00Z');

/** A text as `--from`, or as the end of a range. */
const momentOf = (text: string, end = false) =>
  useFlags('events backfill', end ? { until: text } : { from: text }, ({ from, until }) => (end ? until : from), {
    now,
  });

describe('times', () => {
  it.each([
    ['2026-01-31', false, '2026-01-31T00:00:00.000Z'],
    ['2026-01-31', true, '2026-02-01T00:00:00.000Z'],
    ['7d', false, '2026-11-14T00:00:00.000Z'],
    ['7d', true, '2026-11-15T00:00:00.000Z'],
    ['2026-01-31T18:00Z', true, '2026-01-31T18:00:00.000Z'],
    ['2026-01-31T18:00:30.5+01:00', false, '2026-01-31T17:00:30.500Z'],
    ['2026-01-31 18:00-0830', false, '2026-02-01T02:30:00.000Z'],
  ])('%s (as an end: %s) is %s', (text, end, iso) => {
    expect(momentOf(text, end).value).toBe(Date.parse(iso));
  });

  it.each([
    ['2026-02-31', 'not a date of the calendar'],
    ['2026-02-31T10:00Z', 'not a time of the calendar'],
    ['2026-01-31T25:00Z', 'not a time of the calendar'],
    ['2026-01-31T18:00', 'write 2026-01-31T18:00Z for UTC'],
    ['2026-01-31T18:00 Europe/Berlin', 'is not a valid time zone'],
    ['yesterday', 'must be a UTC date (2026-01-31)'],
    ['12h', 'or an age (7d)'],
  ])('%s is refused with a remedy', (text, sentence) => {
    expect(momentOf(text).mistakes).toEqual([expect.stringContaining(sentence)]);
  });
});

describe('flags', () => {
  const range = (typed: object) => {
    const { value, mistakes } = useFlags('events backfill', typed, (flags) => toRange(flags, now), { now });
    return [value, mistakes] as const;
  };

  it('make a range of whole days, the last one included, or one up to now', () => {
    expect(range({ from: '2026-01-01', until: '2026-01-31' })).toEqual([
      { from: '2026-01-01T00:00:00.000Z', until: '2026-02-01T00:00:00.000Z' },
      [],
    ]);
    expect(range({ from: '2026-01-01' })).toEqual([{ from: '2026-01-01T00:00:00.000Z' }, []]);
  });

  it.each([
    [{}, ['--from is required']],
    [{ from: '2026-02-02', until: '2026-02-01' }, ['--from must be before --until']],
    [{ from: '2027-01-01' }, ['in the future']],
    [{ from: 'x', until: 'y' }, ['--from: ', '--until: ']],
  ])('%j is refused with all mistakes together', (flags, sentences) => {
    for (const sentence of sentences) expect(range(flags)[1].join('\n')).toContain(sentence);
  });

  it('accept types in any order, once each, and report unknown ones', () => {
    const type = ['webset.idle', 'import.created,webset.idle'];
    expect(toWalkOptions({ type, parallel: 4 })).toEqual({
      types: ['import.created', 'webset.idle'],
      parallel: 4,
    });
    expect(useFlags('events sync', { parallel: '0' }, toWalkOptions).mistakes.join()).toContain("--parallel: '0'");
    expect(typesNote(['webset.idle'])).toBeNull();
    const note = typesNote(['webset.idler.x', 'webset.idle']);
    expect(note).toContain('Unknown event type: webset.idler.x.');
    expect(typesNote(['webset.new', 'company.bought'])).toMatch(/^Unknown event types: webset\.new, company\.bought\./);
    expect(note).toContain('webset.item.created');
  });

  it('refuse a misspelt type, which no event has', () => {
    expect(() => toWalkOptions({ type: ['webset.idel', 'webset.merged'] })).toThrow(
      "--type: 'webset.idel' is not an event type; did you mean webset.idle? To send it unchanged, pass --unchecked.",
    );
  });
});

const counts = { pages: 5, events: 900, added: 850, changed: 0 };
const progress: WalkProgress = {
  ...counts,
  phase: 'running',
  pausedFor: null,
  message: null,
  stream: 'sync',
  ...{ windows: 4, windowsDone: 1, share: 0.25, etaMs: 65_000, startedAt: 0 },
};
const summary: WalkSummary = {
  ...counts,
  stream: 'sync',
  into: '/data/out/events.duckdb',
  phase: 'done',
  message: null,
  watermark: now - 120_000,
  windows: 4,
  seconds: 2,
};

describe('the output of a walk', () => {
  const heartbeat = { window: 1, pages: 1, events: 200, added: 190, waitingFor: null };

  it('counts the loaded events of open windows, too, and the new ones among them, and never goes backwards', () => {
    const reader = walkProgress();
    expect(progressText(reader.line(0, progress, [heartbeat], null))).toBe('1,100 events (25%), 1,040 new');
    expect(progressText(reader.line(10_000, { ...progress, events: 1000 }, [], null))).toBe(
      '1,100 events (25%), 0 events/s, 1,040 new',
    );
    const waiting = { ...heartbeat, waitingFor: 'x.duckdb is open in process 7' };
    expect(progressText(walkProgress().line(0, progress, [waiting], null))).toContain('open in process 7');
    expect(progressText(walkProgress().line(0, progress, [waiting], 'blocked for 3 s'))).toContain('blocked for 3 s');
  });

  it('estimates the time left from the share of its range that is done', () => {
    const reader = walkProgress();
    const lineAt = (at: number, coveredMs: number, lengthMs = 1000, share = 0) =>
      progressText(
        reader.line(at, { ...progress, lengthMs, share, events: 0, added: 0 }, [{ ...heartbeat, coveredMs }], null),
      );
    expect(lineAt(0, 500)).toMatch(/^200 events \(50%\)(?!.*left)/);
    // The walk does one hundredth of its range in a second.
    expect(lineAt(10_000, 600)).toMatch(/\(60%\), .* 4[01] s left/);
    // The window ended, so its heartbeat is gone and its share is in the total.
    expect(lineAt(10_250, 0, 1000, 0.59)).toMatch(/\(60%\)/);
    // The range has grown.
    expect(lineAt(12_000, 0, 10_000, 0.06)).toMatch(/\(6%\)(?!.*left)/);
  });

  it('ends with the number of events, the newest time, and the warehouse', () => {
    expect(walkText(summary, now).split('\n')).toEqual([
      'Synced: 900 events read in 2 s, 850 new.',
      'Newest event loaded: 2026-11-21T11:58:00Z (2 min ago).',
      'Warehouse: /data/out/events.duckdb',
    ]);
    const stream = 'backfill 2026-01-01T00:00:00.000Z.. webset.idle';
    expect(walkText({ ...summary, stream, events: 0 }, now)).toContain(
      'Backfilled 2026-01-01 to a minute ago (webset.idle): no new events.',
    );
    expect(walkText({ ...summary, phase: 'stopped', message: 'no key' }, now)).toContain('Stopped: no key');
  });

  it('ends a verification with the differences by day', () => {
    const stream = 'verify 2026-01-01T00:00:00.000Z..2026-02-01T00:00:00.000Z';
    const days = [{ day: '2026-01-03', missing: 1200, changed: 0, gone: 1 }];
    expect(
      walkText({ ...summary, stream, verified: { missing: 1200, changed: 0, gone: 1, days } }, now).split('\n'),
    ).toEqual([
      'Verified 2026-01-01 to 2026-01-31: 900 events read in 2 s.',
      '    1,200  missing; loaded now',
      '        1  gone: no longer returned by the service; kept',
      '  day         missing  changed  gone',
      '  2026-01-03    1,200        0     1',
      'See table event_checks for the ids of these events.',
      'Warehouse: /data/out/events.duckdb',
    ]);
    expect(walkText({ ...summary, stream, verified: { missing: 0, changed: 0, gone: 0, days: [] } }, now)).toContain(
      'The warehouse matches the service: same events, same contents.',
    );
  });
});

describe('status', () => {
  const sync: StreamListing = {
    ...counts,
    stream: 'sync',
    types: [],
    watermark: now - 180_000,
    sweptAt: now - 3_600_000,
    completedAt: now - 60_000,
    from: now - 7_200_000,
    to: now - 120_000,
    beganAt: now - 90_000,
    ...{ pending: [], windows: 1, lengthMs: 0, share: 1 },
  };
  const halfway: StreamListing = {
    ...sync,
    stream: 'backfill 2026-01-01T00:00:00.000Z..2026-02-01T00:00:00.000Z',
    ...{ watermark: null, completedAt: null, sweptAt: null, pending: [3, 4], windows: 4, share: 0.5 },
  };
  const types = [
    { type: 'webset.idle', events: 1234, known: true, latest: now - 180_000 },
    { type: 'webset.\u001b[31mnew', events: 1, known: false, latest: null },
  ];

  const dataOf = (streams: StreamListing[], known: typeof types, interrupted: InterruptedWalk[] = []) => {
    const held = { streams, types: known };
    return statusData(held, [], { interrupted, into: '/data/e.duckdb', origin: 'sandbox' }, now);
  };

  it('shows the watermark, the lag, the age of the last run, the progress of backfills, and unknown types', () => {
    expect(statusText(dataOf([sync, halfway], types), now).split('\n')).toEqual([
      'Warehouse: /data/e.duckdb',
      'sync:',
      '  newest event loaded: 2026-11-21T11:57:00Z (lag 3 min)',
      '  last complete run: 1 min ago, up to 2026-11-21T11:58:00Z',
      'backfill 2026-01-01 to 2026-01-31:',
      '  running: 2 of 4 windows done (50% of its time), 900 events read',
      '1,235 events of 2 types:',
      '  type                  events                latest',
      '  webset.idle            1,234  2026-11-21T11:57:00Z',
      '  webset.new (unknown)       1                     -',
    ]);
  });

  it('shows for an interrupted walk the reason and the command to resume', () => {
    const halted: InterruptedWalk = {
      job: 'events-backfill-1',
      stream: halfway.stream,
      state: 'failed',
      message: 'the list\nis gone',
      resumeText: 'searchflow events backfill',
    };
    const others: InterruptedWalk[] = [
      { ...halted, stream: 'sync', job: 'events-sync-1', state: 'stopped', message: 'it was cancelled' },
      { ...halted, stream: 'verify ..', job: null, state: 'interrupted', message: null, resumeText: null },
    ];
    const lines = statusText(dataOf([halfway], [], [halted, ...others]), now).split('\n');
    expect(lines.slice(0, -2)).toEqual([
      'events-sync-1: stopped',
      '  reason: it was cancelled',
      '  to resume: searchflow events backfill',
      'verify ..: interrupted',
      '  reason: no server or worker answers for it',
      '  to resume: start its workflow again with the same input',
      'Warehouse: /data/e.duckdb',
      'backfill 2026-01-01 to 2026-01-31:',
      '  failed: 2 of 4 windows done (50% of its time), 900 events read',
      '    reason: the list is gone',
      '    to resume: searchflow events backfill',
    ]);
  });

  it.each([
    ['sync', null, ['events', 'sync']],
    ['sync a,b', '/x.duckdb', ['events', 'sync', '--type', 'a', '--type', 'b', '--into', '/x.duckdb']],
    [
      halfway.stream,
      null,
      'events backfill --from 2026-01-01T00:00:00.000Z --until 2026-02-01T00:00:00.000Z'.split(' '),
    ],
    ['verify 2026-01-01T00:00:00.000Z.. a', null, 'events verify --from 2026-01-01T00:00:00.000Z --type a'.split(' ')],
    ['backfill ..2026-02-01T00:00:00.000Z', null, null],
  ])('%s is resumed by a command of the same stream', (stream, into, command) => {
    expect(walkCommand(stream, into)).toEqual(command);
  });

  it('has the same content as data, with durations in seconds', () => {
    expect(printed(dataOf([sync, halfway], types))).toMatchObject({
      kind: 'events',
      known: true,
      events: 1235,
      streams: [
        {
          kind: 'sync',
          watermark: '2026-11-21T11:57:00.000Z',
          lagSeconds: 180,
          completedSecondsAgo: 60,
          windowsLeft: 0,
        },
        { kind: 'backfill', watermark: null, lagSeconds: null, share: 0.5, windowsLeft: 2 },
      ],
      types: [{ known: true }, { known: false, latest: null }],
    });
  });
});
