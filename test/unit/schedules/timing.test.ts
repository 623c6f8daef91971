import { expect, it } from 'vitest';
import { toScheduleWish } from '../../../src/cli/schedules.js';
import { catchUpMs, jitterMs, timingProblems, timingText } from '../../../src/core/schedule-timing.js';
import { useFlags } from '../../support/cli/read-flags.js';

const DAY = 86_400_000;

it.each([
  ['0 6 * * *', 'Europe/Berlin'],
  ['*/15 8-18 * * mon-fri', 'UTC'],
  ['0 0 1,15 * *', 'America/New_York'],
  ['@daily', 'Asia/Kathmandu'],
  ['0 0 29 2 *', 'UTC'],
  ['0 0 30 */2 *', 'UTC'],
  ['0 0 31 jun,jul *', 'UTC'],
  ['0 0 1,30-31 feb *', 'UTC'],
  ['0 0 */30 2 *', 'UTC'],
  ['0 0 31 2/5 *', 'UTC'],
])('a schedule accepts the cron %s in %s', (cron, tz) => {
  expect(timingProblems({ cron, tz })).toEqual([]);
});

it.each([
  ['0 6 * *', 'UTC', ['has 4 fields']],
  ['', 'UTC', ['it is empty; it must have five fields (minute, ']],
  [' ', 'UTC', ['it is empty']],
  ['daily', 'UTC', ["'daily' has 1 field; "]],
  ['0 six! * * *', 'UTC', ["'six!' is not a valid hour"]],
  ['0 0 30 2 *', 'UTC', ["'0 0 30 2 *' never fires: no date has this day and month"]],
  ['0 0 30-31/1 Feb *', 'UTC', ['never fires']],
  ['0 6 1 * mon', 'UTC', ['names days of the month and days of the week']],
  ['0 0 31 4,6-7/2,sep *', 'UTC', ['never fires']],
  ['0 6 * * *', 'Berlin', ["tz must be a time zone such as Europe/Berlin (got 'Berlin')"]],
  ['@every 5m', 'Mars/City', ['has 2 fields', "(got 'Mars/City')"]],
])('a schedule refuses the cron %j in %s, with all mistakes', (cron, tz, said) => {
  const problems = timingProblems({ cron, tz });
  expect(problems).toHaveLength(said.length);
  for (const [index, part] of said.entries()) expect(problems[index]).toContain(part);
});

it.each([
  [{}, null],
  [{ every: '15m' }, { name: null, timing: { everyMs: 900_000 } }],
  [
    { every: 'never', scheduleName: 'x' },
    { name: 'x', timing: 'never' },
  ],
  [{ cron: '0 6 * * *' }, { name: null, timing: { cron: '0 6 * * *', tz: 'UTC' } }],
])('a schedule reads %j as an interval', (flags, wish) => {
  expect(useFlags('enrich', flags, toScheduleWish)).toEqual({ value: wish, mistakes: [] });
});

it.each([
  [{ every: '15' }, /'15' must be a duration/],
  [{ every: '30s' }, /must be at least a minute/],
  [{ scheduleName: 'x' }, /needs --every or --cron/],
  [{ every: '1d', scheduleName: 'a b' }, /must have at most 100 letters/],
])('a schedule refuses %j in a sentence', (flags, sentence) => {
  expect(useFlags('enrich', flags, toScheduleWish).mistakes.join()).toMatch(sentence);
});

it('a schedule catches up on missed runs for a day at most, and delays none by more than a tenth of its interval', () => {
  expect([60_000, DAY / 2, 7 * DAY].map((everyMs) => catchUpMs({ everyMs }))).toEqual([3_600_000, DAY / 2, DAY]);
  expect([60_000, DAY].map((everyMs) => jitterMs({ everyMs }))).toEqual([6000, 30_000]);
});

it('a schedule shows an interval in its largest unit', () => {
  expect([900_000, DAY, 90_000, 14 * DAY].map((everyMs) => timingText({ everyMs }))).toEqual([
    'every 15m',
    'every 1d',
    'every 90s',
    'every 2w',
  ]);
});
