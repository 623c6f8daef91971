import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';
import { mostInASecond } from '../../support/store/limiter-contract.js';
import { processesOf } from '../../support/store/store-processes.js';

const QPS = 20;
const { server, start } = processesOf('limit-taker.mjs');

/** The clock that all processes of this machine share, in ms. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

/** Processes that share one rate limit, in PostgreSQL or in a file. */
async function team(on: string, count: number) {
  const dir = folderOfTest();
  const where = on === 'a file' ? { dir } : { url: await server().database() };
  const starts: { at: number; weight: number; by: number }[] = [];
  const processes = Array.from({ length: count }, (_, by) => {
    const child = start({ ...where, qps: QPS });
    child.stderr.pipe(process.stderr);
    const said: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'blocked') said.push(line);
      else starts.push({ at: Number(line), weight: 1, by });
    });
    return { child, said };
  });
  /** Waits until each process of `who` has started this many calls since a time. */
  const going = (who: readonly number[], calls: number, since = 0) =>
    expect
      .poll(() => Math.min(...who.map((by) => starts.filter((one) => one.by === by && one.at > since).length)), {
        timeout: 30_000,
        interval: 20,
      })
      .toBeGreaterThanOrEqual(calls);
  return { starts, processes, going };
}

describe.each(['PostgreSQL', 'a file'])('processes that share a limit on %s', (on) => {
  it('continue at the full rate, and never above it, when one of them dies', async () => {
    const { starts, processes, going } = await team(on, 3);
    await going([0, 1, 2], 5);
    processes[0]?.child.kill('SIGKILL');
    const killed = now();
    await going([1, 2], 20, killed);
    expect(mostInASecond(starts)).toBeLessThanOrEqual(QPS);
    const after = starts.filter(({ at }) => at > killed).slice(0, 40);
    expect(after.filter(({ by }) => by === 0).length).toBeLessThanOrEqual(QPS / 4 + 1);
  });

  it('all wait after the Retry-After of one, and return in order', async () => {
    const { starts, processes, going } = await team(on, 3);
    await going([0, 1, 2], 5);
    processes[1]?.child.stdin?.write('block 2000\n');
    await expect.poll(() => processes[1]?.said, { timeout: 10_000, interval: 5 }).toEqual(['blocked']);
    const heard = now();
    await going([0, 1, 2], 5, heard + 500);
    expect(starts.filter(({ at }) => at > heard + 250 && at < heard + 1700)).toEqual([]);
    expect(mostInASecond(starts.filter(({ at }) => at > heard + 500))).toBeLessThanOrEqual(QPS);
  });
});

it('processes that share a limit on PostgreSQL alone wait while the database is down, keep its block, and do not burst when it is back', async () => {
  const { starts, processes, going } = await team('PostgreSQL', 2);
  await going([0, 1], 5);
  await server().kill();
  const gone = now();
  await server().start();
  const back = now();
  await going([0, 1], 5, back);
  expect(starts.filter(({ at }) => at > gone + 300 && at < back)).toEqual([]);
  expect(mostInASecond(starts)).toBeLessThanOrEqual(QPS);

  processes[0]?.child.stdin?.write('block 4000\n');
  await expect.poll(() => processes[0]?.said, { timeout: 10_000, interval: 5 }).toEqual(['blocked']);
  const heard = now();
  await server().kill();
  await server().start();
  const restarted = now();
  await going([0, 1], 3, heard + 300);
  expect(starts.filter(({ at }) => at > Math.min(restarted, heard + 300) && at < heard + 3700)).toEqual([]);
  expect(mostInASecond(starts)).toBeLessThanOrEqual(QPS);
});
