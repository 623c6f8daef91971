// How much of a strict limit several worker processes use together on PostgreSQL, and how well all of them obey a Retry-After
// that one was given. Judged by the arrivals that a strict service of its own writes down.
//   npm run bench -- limits [--seconds 60] [--limits 10,25] [--processes 1,2,4] [--heavy 0,5]
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { bar, serviceProcess, startScript } from './measure.mjs';

const SPREAD_MS = 250;
const TOLD_SECONDS = 5;

/** One run: so many workers against one service; the arrivals at the end, oldest first. */
async function arrivalsOf({ store, limit, processes, heavyEvery, during }) {
  const service = await serviceProcess({ qps: limit, latencyMs: 400, agents: { slots: null } });
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

/** The most units that arrived within any second. */
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
      await service.next({ how: 'status', status: 429, headers: { 'retry-after': String(TOLD_SECONDS) } });
      await delay((TOLD_SECONDS + 5) * 1000);
    },
  });
  const told = arrivals.find(({ fault }) => fault !== null);
  const over = told.at + TOLD_SECONDS * 1000;
  const early = arrivals.filter(({ at }) => at > told.at && at < over);
  return {
    spread: early.filter(({ at }) => at <= told.at + SPREAD_MS).length,
    early: early.filter(({ at }) => at > told.at + SPREAD_MS).length,
    most: mostInASecond(arrivals.filter(({ at }) => at >= over)),
    firstMs: arrivals.find(({ at }) => at >= over).at - over,
  };
}

const numbers = (text) => String(text).split(',').map(Number);

export async function run({ seconds = 60, limits = '10,25', processes = '1,2,4', heavy = '0,5' }) {
  const server = await startPostgres();
  const store = await server.database();
  const met = [];
  try {
    for (const limit of numbers(limits)) {
      for (const count of numbers(processes)) {
        const run = { store, limit, processes: count };
        const who = `${limit}/s, ${count} ${count === 1 ? 'process' : 'processes'}`;
        for (const heavyEvery of numbers(heavy)) {
          const least = heavyEvery > 0 ? 0.94 : 0.97;
          const mix = heavyEvery > 0 ? `1 of ${heavyEvery} at weight 2` : 'weight 1';
          const result = await used({ ...run, heavyEvery, seconds: Number(seconds) });
          console.log(`load ${loadavg()[0].toFixed(1)}`);
          met.push(bar(`${who}, ${mix}: part of the limit used`, result.used, (part) => part >= least, `>= ${least}`));
          met.push(bar(`${who}, ${mix}: part answered 429`, result.refused, (part) => part <= 0.01, '<= 0.01'));
        }
        const { spread, early, most, firstMs } = await obeyed({ ...run, heavyEvery: 0 });
        console.log(
          `Retry-After: ${TOLD_SECONDS} to one worker: ${spread} arrived while the news spread (${SPREAD_MS} ms), the first ` +
            `after it ${firstMs.toFixed(0)} ms late`,
        );
        met.push(bar(`${who}: arrivals in the blocked time`, early, (many) => many === 0, '0'));
        met.push(bar(`${who}: most in a second after it`, most, (many) => many <= limit, `<= ${limit}`));
      }
    }
    return met.every(Boolean);
  } finally {
    await server.stop();
  }
}
