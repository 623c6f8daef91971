import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import {
  type QuietHours,
  quietAt,
  quietHoursProblem,
  type Weekday,
  wallClock,
  weekdays,
} from '../../../src/core/monitors/quiet-hours.js';
import {
  beginStep,
  dueQuietAction,
  endStep,
  type QuietMark,
  type QuietMonitor,
} from '../../../src/core/monitors/quiet-plan.js';

const workdays: Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri'];
const nights: QuietHours = { tz: 'Europe/Berlin', from: '20:00', until: '07:00', days: workdays, untilDay: null };
const weekend: QuietHours = { tz: 'Europe/Berlin', from: '20:00', until: '07:00', days: ['fri'], untilDay: 'mon' };
const utc = (text: string) => Date.parse(`${text}Z`);

describe('quiet hours', () => {
  it.each([
    // In winter Berlin is one hour ahead of UTC.
    ['2026-01-15T18:59:59', null],
    ['2026-01-15T19:00:00', '2026-01-15'],
    ['2026-01-16T05:59:59', '2026-01-15'],
    ['2026-01-16T06:00:00', null],
    // The night that begins on Friday lasts until Saturday morning; the nights of Saturday and Sunday are not quiet.
    ['2026-01-17T05:59:00', '2026-01-16'],
    ['2026-01-17T20:00:00', null],
    ['2026-01-19T02:00:00', null],
    // In summer Berlin is two hours ahead of UTC.
    ['2026-07-15T17:59:59', null],
    ['2026-07-15T18:00:00', '2026-07-15'],
    ['2026-07-16T05:00:00', null],
    // The night from one year to the next belongs to the old year.
    ['2026-12-31T23:30:00', '2026-12-31'],
    ['2027-01-01T05:59:00', '2026-12-31'],
  ])('on weekdays from 20:00 to 07:00 in Berlin, %s UTC is in the hours of %s', (at, window) => {
    expect(quietAt(utc(at), nights)).toBe(window);
  });

  it.each([
    ['2026-01-16T18:59:59', null],
    ['2026-01-16T19:00:00', '2026-01-16'],
    ['2026-01-18T12:00:00', '2026-01-16'],
    ['2026-01-19T05:59:59', '2026-01-16'],
    ['2026-01-19T06:00:00', null],
    // Summer time begins on the first of these weekends and ends on the second.
    ['2026-03-27T19:00:00', '2026-03-27'],
    ['2026-03-30T04:59:59', '2026-03-27'],
    ['2026-03-30T05:00:00', null],
    ['2026-10-23T18:00:00', '2026-10-23'],
    ['2026-10-26T05:59:59', '2026-10-23'],
    ['2026-10-26T06:00:00', null],
  ])('from Friday 20:00 to Monday 07:00, %s UTC is in the hours of %s', (at, window) => {
    expect(quietAt(utc(at), weekend)).toBe(window);
  });

  it.each([
    ['Asia/Kathmandu', '2026-01-15T14:15:00'],
    ['Australia/Lord_Howe', '2026-01-15T09:00:00'],
    ['America/St_Johns', '2026-01-15T23:30:00'],
    ['Pacific/Kiritimati', '2026-01-15T06:00:00'],
  ])('begin at the exact minute in %s', (tz, at) => {
    const there = { ...nights, tz, days: [...weekdays] };
    expect(quietAt(utc(at), there)).not.toBeNull();
    expect(quietAt(utc(at) - 1000, there)).toBeNull();
  });

  it.each([
    [{ from: '8 pm' }, /from/],
    [{ until: '07:60' }, /until/],
    [{ tz: 'Berlin' }, /time zone/],
    [{ days: [] }, /days must/],
    [{ from: '07:00', until: '07:00' }, /overlap/],
    [{ days: ['fri', 'sat'] as Weekday[], untilDay: 'mon' as Weekday }, /one day/],
  ])('with %j are refused', (changes, message) => {
    expect(quietHoursProblem(nights)).toBeNull();
    expect(quietHoursProblem(weekend)).toBeNull();
    expect(quietHoursProblem({ ...nights, ...changes })).toMatch(message);
  });
});

/** The actions of turns at these moments; each turn gets the mark of the turn before. */
function turns(hours: QuietHours, moments: readonly string[]): (string | null)[] {
  let mark: QuietMark | null = null;
  return moments.map((at) => {
    const turn = dueQuietAction(utc(at), hours, mark);
    if (turn.do === 'nothing') return null;
    mark = { window: turn.window, state: turn.do === 'begin' ? 'begun' : 'ended' };
    return `${turn.do} ${turn.window}`;
  });
}

describe('a turn of quiet hours', () => {
  it('acts once in any number of runs, and the next turn makes up for a lost one', () => {
    const moments = [
      '15T18:00',
      '15T19:00',
      '15T19:00',
      '15T20:00',
      '16T06:00',
      '16T07:00',
      '16T19:30',
      '20T06:00',
      '20T20:00',
    ];
    expect(
      turns(
        nights,
        moments.map((at) => `2026-01-${at}:00`),
      ),
    ).toEqual([
      ...[
        null,
        'begin 2026-01-15',
        null,
        null,
        'end 2026-01-15',
        null,
        'begin 2026-01-16',
        'end 2026-01-16',
        'begin 2026-01-20',
      ],
    ]);
  });

  it('begins the next hours if the end of the last ones never ran', () => {
    expect(turns(nights, ['2026-01-14T19:00:00', '2026-01-15T19:00:00', '2026-01-16T06:00:00'])).toEqual([
      ...['begin 2026-01-14', 'begin 2026-01-15', 'end 2026-01-15'],
    ]);
  });

  it('is right if the clock skips its time: 02:30 is the time that would have been', () => {
    // On 29 March 2026 the clock jumps from 02:00 to 03:00 (01:00 UTC). Temporal skips the turn at 02:30; the turn an hour later does its
    // work.
    const early: QuietHours = { ...nights, from: '02:30', until: '05:00', days: [...weekdays] };
    expect(turns(early, ['2026-03-29T00:59:00', '2026-03-29T01:30:00', '2026-03-29T03:00:00'])).toEqual([
      ...[null, 'begin 2026-03-29', 'end 2026-03-29'],
    ]);
    const late: QuietHours = { ...nights, from: '01:00', until: '02:30', days: [...weekdays] };
    expect(turns(late, ['2026-03-29T00:00:00', '2026-03-29T01:30:00', '2026-03-29T02:00:00'])).toEqual([
      ...['begin 2026-03-29', 'end 2026-03-29', null],
    ]);
  });

  it('acts once if the clock repeats its time', () => {
    // On 25 October 2026 the clock is put back from 03:00 to 02:00 (01:00 UTC). So 02:30 occurs at 00:30 and at 01:30 UTC.
    const early: QuietHours = { ...nights, from: '02:30', until: '05:00', days: [...weekdays] };
    expect(turns(early, ['2026-10-25T00:30:00', '2026-10-25T01:30:00', '2026-10-25T04:00:00'])).toEqual([
      ...['begin 2026-10-25', null, 'end 2026-10-25'],
    ]);
    const late: QuietHours = { ...nights, from: '01:00', until: '02:30', days: [...weekdays] };
    const moments = ['2026-10-24T23:00:00', '2026-10-25T00:30:00', '2026-10-25T01:10:00', '2026-10-25T01:30:00'];
    // The third moment is 02:10 for the second time, but hours that have ended do not begin again.
    expect(turns(late, moments)).toEqual(['begin 2026-10-25', 'end 2026-10-25', null, null]);
  });

  it('ends nothing if the clock was put back before the beginning of current hours', () => {
    const early: QuietHours = { ...nights, from: '02:30', until: '07:00', days: [...weekdays] };
    // These moments are 02:30 summer time, then 02:10, 02:40 and 07:00 winter time.
    const moments = ['2026-10-25T00:30:00', '2026-10-25T01:10:00', '2026-10-25T01:40:00', '2026-10-25T06:00:00'];
    expect(turns(early, moments)).toEqual(['begin 2026-10-25', null, null, 'end 2026-10-25']);
  });

  it.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'])(
    'every half hour of a year in %s begins and ends in alternation, and agrees with the local clock',
    (tz) => {
      const hours = { ...nights, tz };
      let mark: QuietMark | null = null;
      let [began, ended] = [0, 0];
      for (let at = utc('2026-01-01T00:00:00'); at < utc('2027-01-01T00:00:00'); at += 1_800_000) {
        const turn = dueQuietAction(at, hours, mark);
        if (turn.do === 'begin') {
          expect(mark?.state ?? 'ended').toBe('ended');
          // The first quiet hours may have begun before the year, so their start is not checked.
          if (began > 0) expect(wallClock(at, tz).minutes).toBe(1200);
          mark = { window: turn.window, state: 'begun' };
          began++;
        } else if (turn.do === 'end') {
          expect(turn.window).toBe(mark?.window);
          expect(wallClock(at, tz).minutes).toBe(420);
          mark = { window: turn.window, state: 'ended' };
          ended++;
        }
      }
      // The year has 261 weekdays; quiet hours that cross its start or end may add or remove one.
      expect(Math.abs(began - 261)).toBeLessThanOrEqual(1);
      expect(Math.abs(ended - 261)).toBeLessThanOrEqual(1);
    },
  );

  test.prop([fc.integer({ min: 0, max: 366 * 1440 }), fc.integer({ min: 0, max: 48 * 60 })])(
    'with any delay has the same result as turns in time, except for hours that it missed entirely',
    (minute, late) => {
      const at = utc('2026-01-01T00:00:00') + minute * 60_000;
      const first = dueQuietAction(at, nights, null);
      const mark: QuietMark | null = first.do === 'nothing' ? null : { window: first.window, state: 'begun' };
      const then = at + late * 60_000;
      const isQuiet = quietAt(then, nights);
      const turn = dueQuietAction(then, nights, mark);
      const open = turn.do === 'begin' ? turn.window : turn.do === 'end' ? null : (mark?.window ?? null);
      expect(open).toBe(isQuiet);
    },
  );
});

describe('a monitor in quiet hours', () => {
  const state = (status: string, updatedAt: string) => ({ id: 'm1', name: 'One', status, updatedAt, definition: null });
  const paused: QuietMonitor = {
    ...{ id: 'm1', name: 'One', window: '2026-01-15', state: 'paused', before: 't0', after: 't1', keptBy: null },
  };

  it('is paused when hours begin, unless a person resumed it within them', () => {
    expect(beginStep(state('active', 't0'), null, '2026-01-15', null)).toBe('pause');
    expect(beginStep(state('paused', 't0'), null, '2026-01-15', null)).toBe('nothing');
    expect(beginStep(state('disabled', 't0'), null, '2026-01-15', null)).toBe('nothing');
    expect(beginStep(state('active', 't5'), paused, '2026-01-15', null)).toBe('nothing');
    expect(beginStep(state('active', 't5'), paused, '2026-01-16', null)).toBe('pause');
    expect(beginStep(state('paused', 't1'), paused, '2026-01-16', null)).toBe('nothing');
  });

  it('that other quiet hours hold paused is held by these as well, unless another client changed it since', () => {
    const held = { id: 'm1', schedule: 'nights', after: 't1', keptBy: null };
    expect(beginStep(state('paused', 't1'), null, '2026-01-15', held)).toBe('join');
    expect(beginStep(state('paused', 't2'), null, '2026-01-15', held)).toBe('nothing');
    expect(beginStep(state('active', 't2'), null, '2026-01-15', held)).toBe('pause');
    expect(beginStep(state('paused', 't1'), paused, '2026-01-16', held)).toBe('nothing');
    expect(beginStep(state('paused', 't3'), paused, '2026-01-16', { ...held, after: 't3' })).toBe('join');
  });

  it('with an unfinished pause is adopted if it changed since, and otherwise left to the client that paused it', () => {
    const pausing: QuietMonitor = { ...paused, state: 'pausing', after: null };
    expect(beginStep(state('active', 't0'), pausing, '2026-01-15', null)).toBe('pause');
    expect(beginStep(state('paused', 't1'), pausing, '2026-01-15', null)).toBe('adopt');
    expect(beginStep(state('paused', 't0'), pausing, '2026-01-15', null)).toBe('nothing');
    expect(endStep(pausing, state('paused', 't1'))).toEqual({ do: 'unpause' });
    expect(endStep(pausing, state('paused', 't0'))).toEqual({ do: 'forget', why: null });
    expect(endStep(pausing, state('active', 't0'))).toEqual({ do: 'forget', why: null });
  });

  it('is put back when hours end, unless a person changed it, paused it too, or deleted it', () => {
    expect(endStep(paused, state('paused', 't1'))).toEqual({ do: 'unpause' });
    expect(endStep(paused, state('paused', 't2'))).toEqual({ do: 'forget', why: 'another client changed it' });
    expect(endStep(paused, state('active', 't2'))).toMatchObject({ why: expect.stringContaining('active') });
    expect(endStep(paused, state('disabled', 't2'))).toMatchObject({ why: expect.stringContaining('disabled') });
    expect(endStep(paused, null)).toMatchObject({ why: 'it was deleted' });
    expect(endStep({ ...paused, keptBy: 'Ann' }, state('paused', 't1'))).toMatchObject({ why: 'Ann paused it, too' });
  });

  it('with an unfinished unpause is done if it is active, and otherwise put back', () => {
    const unpausing: QuietMonitor = { ...paused, state: 'unpausing' };
    expect(endStep(unpausing, state('active', 't2'))).toEqual({ do: 'forget', why: null });
    expect(endStep(unpausing, state('paused', 't1'))).toEqual({ do: 'unpause' });
  });
});
