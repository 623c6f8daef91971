import { expect, it } from 'vitest';
import { readCron, timingProblems } from '../../../src/core/schedule-timing.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

/**
 * Possible texts of each field of a cron expression. Each expression takes the next text of every field. The numbers of texts have no
 * common divisor, so no two expressions are equal.
 */
const parts = [
  ['0', '*/15', '5,35', '7-50/9', '59', '30', '3/20', '*', '00', '12-14', '0,10-20/5'],
  ['*', '6', '*/5', '8-18', '0,12', '22-23', '1/7'],
  ['*', '1', '15-20', '*/10', '31', '1,29-30', '2/9', '28', '5-25/4'],
  ['*', 'jan', '2-11/3', 'MAR,sep', '12', '*/2', '4/4', '6-7'],
  ['*', 'mon-fri', '7', '0', 'sun'],
] as const;
const expressions = Array.from({ length: 230 }, (_, nth) => parts.map((of) => of[nth % of.length]).join(' '));
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'];

/** The next times of a cron expression according to the server, or the server's error. */
async function serverTimes(cron: string, timezone: string, scheduleId: string): Promise<Date[] | string> {
  const { schedule } = temporal.client;
  try {
    const handle = await schedule.create({
      scheduleId,
      spec: { cronExpressions: [cron], timezone },
      action: { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none' },
      state: { paused: true },
    });
    const { info } = await handle.describe();
    await handle.delete();
    return info.nextActionTimes;
  } catch (error) {
    return String((error as Error).message);
  }
}

it('reads at least 200 cron expressions as the server does: the next five times are the same', async () => {
  let compared = 0;
  const compare = async (cron: string, nth: number) => {
    const timezone = zones[nth % zones.length] as string;
    const server = await serverTimes(cron, timezone, `cron-${nth}`);
    const now = new Date();
    const next = (Array.isArray(server) ? server : []).filter((time) => time > now).slice(0, 5);
    const mine = readCron(cron, timezone)?.nextRuns(5, now) ?? [];
    expect([cron, timezone, mine.slice(0, next.length)]).toEqual([cron, timezone, next]);
    // Cron starts on either of two named days, the server on days that are both: such an expression is refused.
    const [, , day, , weekday] = cron.split(' ');
    const isClear = day?.startsWith('*') || weekday?.startsWith('*');
    expect([cron, timingProblems({ cron, tz: timezone }).length]).toEqual([cron, isClear && next.length > 0 ? 0 : 1]);
    compared++;
  };
  for (let from = 0; from < expressions.length; from += 20)
    await Promise.all(expressions.slice(from, from + 20).map((cron, nth) => compare(cron, from + nth)));
  expect(compared).toBeGreaterThanOrEqual(200);
});

it.each([
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * 32 * *',
  '* * * 13 *',
  '* * * * 8',
  '*/0 * * * *',
  '5-1 * * * *',
  '0 22-2 * * *',
  '0 0 * * fri-mon',
  '1-2-3 * * * *',
  '0 0 ? * mon',
  '0 0 L * *',
  '0 0 15W * *',
  '-1 * * * *',
  '0 0 * * 5L',
])('refuses the cron %s, which the server refuses too', async (cron) => {
  expect(timingProblems({ cron, tz: 'UTC' })).toHaveLength(1);
  expect(await serverTimes(cron, 'UTC', 'refused')).toMatch(/in range|Step|too many/);
});
