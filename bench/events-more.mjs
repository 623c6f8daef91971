// Memory and use of a rate limit: the other measurements of `npm run bench -- events`.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { startService } from '../test/service/service.mjs';
import { bar, root, sandboxProcess, timed, workFolder } from './measure.mjs';

const from = '2025-01-01T00:00:00.000Z';
const until = '2026-01-01T00:00:00.000Z';

export const lastLine = ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1));

/** One walk of searchflow in a process of its own, see our-events.mjs; the events in its file are counted, then it is removed. */
export async function walk(options, wanted) {
  const ran = await timed([join(root, 'bench', 'our-events.mjs'), JSON.stringify(options)], { cwd: root });
  const loaded = await count(options.into);
  if (loaded !== wanted) throw new Error(`${loaded} events loaded of ${wanted}`);
  rmSync(options.into);
  const result = lastLine(ran);
  return { ...result, speed: loaded / result.seconds };
}

async function count(file) {
  const database = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await database.connect();
  const [[all, ids]] = (
    await connection.runAndReadAll('select count(*)::int, count(distinct id)::int from events')
  ).getRows();
  connection.closeSync();
  database.closeSync();
  if (all !== ids) throw new Error(`${all} rows for ${ids} events`);
  return ids;
}

/** Peak memory of the whole process at 300,000 and at 1,000,000 events. */
export async function runMemory(address, { small = 300_000, large = 1_000_000, parallel = 16 }) {
  const { dir, remove } = workFolder();
  try {
    const peaks = [];
    for (const events of [Number(small), Number(large)]) {
      const sandbox = await sandboxProcess({
        logEntries: 1000,
        events: { count: events, from, to: until, order: 'newest' },
      });
      const into = join(dir, `memory-${events}.duckdb`);
      const result = await walk({ url: sandbox.url, into, address, from, until, parallel: Number(parallel) }, events);
      sandbox.stop();
      console.log(
        `${events} events: ${result.speed.toFixed(0)}/s, ${result.peakMb.toFixed(0)} MB, ${result.windows} windows`,
      );
      peaks.push(result.peakMb);
    }
    const met = [
      bar(`peak MB at ${large} events`, peaks[1], (value) => value <= 600, '<= 600'),
      bar('peak, large / small', peaks[1] / peaks[0], (value) => value <= 1.15, '<= 1.15'),
    ];
    return met.every(Boolean);
  } finally {
    remove();
  }
}

/** Share of a rate limit that is used, and number of refusals; a strict server counts. */
export async function runLimit(address, { limit, events = 80_000, latency = 50 }) {
  const { dir, remove } = workFolder();
  const qps = Number(limit);
  const count = Number(events);
  const service = await startService({
    latencyMs: Number(latency),
    qps,
    retryAfter: 1,
    events: { count, from: Date.parse(from), to: Date.parse(until), arrivingPerSecond: 0, late: 0 },
  });
  try {
    const into = join(dir, 'limit.duckdb');
    await walk({ url: service.url, into, address, from, until, parallel: 16, qps }, count);
    const admitted = service.log.filter(({ refused }) => refused === null);
    console.log(`${service.log.length} requests, ${service.log.length - admitted.length} of them refused`);
    const rate = ((admitted.length - 1) * 1000) / (admitted.at(-1).at - admitted[0].at);
    return bar(`part of ${qps} requests/s that is used`, rate / qps, (value) => value >= 0.97, '>= 0.97');
  } finally {
    await service.close();
    remove();
  }
}
