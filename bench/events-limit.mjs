// Share of a rate limit that a walk of events uses, and the number of refusals; a strict server counts.
import { join } from 'node:path';
import { startService } from '../test/service/service.mjs';
import { from, until, walk, withTemporal } from './events-walk.mjs';
import { workFolder } from './measure.mjs';
import { bar } from './results.mjs';

export const defaults = { qps: 10, events: 80_000, latency: 50 };

export const run = ({ qps, events: count, latency: latencyMs }) =>
  withTemporal(async (address) => {
    const { dir, remove } = workFolder();
    const events = { count, from: Date.parse(from), to: Date.parse(until), arrivingPerSecond: 0, late: 0 };
    const service = await startService({ latencyMs, qps, retryAfter: 1, events });
    try {
      const into = join(dir, 'limit.duckdb');
      await walk({ url: service.url, into, address, parallel: 16, qps }, count);
      const admitted = service.log.filter(({ refused }) => refused === null);
      console.log(`${service.log.length} requests, ${service.log.length - admitted.length} of them refused`);
      const rate = ((admitted.length - 1) * 1000) / (admitted.at(-1).at - admitted[0].at);
      bar(`part of ${qps} requests/s that is used`, rate / qps, '>= 0.97');
    } finally {
      await service.close();
      remove();
    }
  });
