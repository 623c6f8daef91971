// Share of a strict rate limit that one process uses in memory and several use in a file or on PostgreSQL, and whether all of them wait for a
// Retry-After that one received. The judge is the list of arrivals of a strict service of its own, which refuses with
// `Retry-After: 1`. The defaults take about 45 minutes; `--requests 200 --runs 1 --heavy none --wait no` is a short run.
//   npm run bench -- limits [--requests 1000] [--runs 5] [--limits 10] [--processes memory,file1,file4,1,4] [--heavy 5] [--seconds 60] [--wait yes]
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { median, serviceProcess, startScript } from './measure.mjs';
import { bar } from './results.mjs';

const SPREAD_MS = 250;
const WAIT_SECONDS = 5;

/** One run of this many workers against one service; returns the arrivals, oldest first. */
async function arrivalsOf({ store, limit, processes, heavyEvery, during }) {
  const service = await serviceProcess({ qps: limit, latencyMs: 400, retryAfter: 1, agents: { slots: null } });
  const team = `bench ${process.hrtime.bigint()}`;
  const workers = await Promise.all(
    Array.from({ length: processes }, (_, index) =>
      startScript('bench/limits-worker.mjs', {
        ...{ name: `w${index}`, store, team, service: service.url, limit, heavyEvery },
      }),
    ),
  );
  try {
    await during(service);
    return (await service.get('log')).log;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await service.stop();
  }
}

function units(arrivals) {
  return arrivals.reduce((sum, { units }) => sum + units, 0);
}

/**
 * Makes this many requests in one run. Returns the admitted ones as a share of the limit between the first and the last send, and the
 * number of refused ones.
 */
async function whole({ requests, ...run }) {
  // If less than nine tenths of the limit is used, fewer requests arrive in this time, but the share stays right.
  const during = () => delay((requests / run.limit) * 1100 + 3000);
  const arrivals = (await arrivalsOf({ ...run, heavyEvery: 0, during })).slice(0, requests);
  const admitted = arrivals.filter(({ status }) => status !== 429);
  const refused = arrivals.filter(({ refused }) => refused === 'rate');
  const seconds = (arrivals.at(-1).at - arrivals[0].at) / 1000;
  const early = refused.map(({ earlyMs }) => earlyMs.toFixed(1)).join(', ');
  const result = { used: admitted.length / (run.limit * seconds), refused: refused.length };
  console.log(
    `load ${loadavg()[0].toFixed(1)}: ${result.used.toFixed(4)} used, ${result.refused} of ${arrivals.length} refused` +
      `${early ? ` (${early} ms early)` : ''}`,
  );
  return result;
}

async function used({ seconds, ...run }) {
  const arrivals = await arrivalsOf({ ...run, during: () => delay((seconds + 4) * 1000) });
  const from = arrivals[0].at + 2000;
  const window = arrivals.filter(({ at }) => at >= from && at < from + seconds * 1000);
  const admitted = window.filter(({ status }) => status !== 429);
  return {
    used: units(admitted) / (run.limit * seconds),
    refused: (window.length - admitted.length) / window.length,
  };
}

/** Highest number of units that arrived within any second. */
function mostInASecond(arrivals) {
  return Math.max(
    0,
    ...arrivals.map((first) => units(arrivals.filter(({ at }) => at >= first.at && at < first.at + 1000))),
  );
}

async function obeyed(run) {
  const arrivals = await arrivalsOf({
    ...run,
    during: async (service) => {
      await delay(5000);
      await service.next({ how: 'status', status: 429, headers: { 'retry-after': String(WAIT_SECONDS) } });
      await delay((WAIT_SECONDS + 5) * 1000);
    },
  });
  const first = arrivals.find(({ fault }) => fault !== null);
  const over = first.at + WAIT_SECONDS * 1000;
  const early = arrivals.filter(({ at }) => at > first.at && at < over);
  return {
    spread: early.filter(({ at }) => at <= first.at + SPREAD_MS).length,
    early: early.filter(({ at }) => at > first.at + SPREAD_MS).length,
    most: mostInASecond(arrivals.filter(({ at }) => at >= over)),
    firstMs: arrivals.find(({ at }) => at >= over).at - over,
  };
}

const numbers = (text) => (text === 'none' ? [] : String(text).split(',').map(Number));

export const defaults = {
  ...{ requests: 1000, runs: 5, limits: '10', processes: 'memory,file1,file2,file4,1,2,4' },
  ...{ heavy: '5', seconds: 60, wait: 'yes' },
};

export async function run({ requests, runs, limits, processes, heavy, seconds, wait }) {
  const server = await startPostgres();
  const shared = await server.database();
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-limits-'));
  try {
    for (const limit of numbers(limits)) {
      for (const count of processes.split(',')) {
        const [, kind, number = 1] = /^(memory|file|)(\d+)?$/.exec(count);
        const store = { memory: null, file: { dir }, '': { url: shared } }[kind];
        const where = { memory: 'in memory', file: 'in a file', '': 'on PostgreSQL' }[kind];
        const run = { store, limit, processes: Number(number) };
        const who = `${limit}/s, ${run.processes} ${run.processes === 1 ? 'process' : 'processes'} ${where}`;
        const results = [];
        for (let nth = 0; nth < runs; nth++) results.push(await whole({ ...run, requests }));
        const part = median(results.map((result) => result.used));
        const most = Math.max(...results.map((result) => result.refused));
        const of = `of ${requests} requests, ${runs} ${runs === 1 ? 'run' : 'runs'}`;
        bar(`${who}: part of the limit used, median ${of}`, part, '>= 0.97');
        bar(`${who}: refused, most ${of}`, most, '<= 3');
        for (const heavyEvery of numbers(heavy)) {
          const mix = `1 of ${heavyEvery} at weight 2`;
          const result = await used({ ...run, heavyEvery, seconds });
          console.log(`load ${loadavg()[0].toFixed(1)}`);
          bar(`${who}, ${mix}: part of the limit used`, result.used, '>= 0.94');
          bar(`${who}, ${mix}: part answered 429`, result.refused, '<= 0.01');
        }
        if (wait === 'yes') await obeys(who, run);
      }
    }
  } finally {
    rmSync(dir, { recursive: true });
    await server.stop();
  }
}

/** Whether all processes wait for a Retry-After that one received. */
async function obeys(who, run) {
  const { spread, early, most, firstMs } = await obeyed({ ...run, heavyEvery: 0 });
  console.log(
    `Retry-After: ${WAIT_SECONDS} to one worker: ${spread} arrived before all had it (${SPREAD_MS} ms), the first ` +
      `after it ${firstMs.toFixed(0)} ms late`,
  );
  bar(`${who}: arrivals in the blocked time`, early, '= 0');
  bar(`${who}: most in a second after it`, most, `<= ${run.limit}`);
}
