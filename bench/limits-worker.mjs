// One worker process of the limits bench: asks a limiter of its own (without `store`) or the team's limiter for turns and sends
// at full speed, until its input ends.
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { takeTurn } from '../dist/core/limiter/limiter.js';
import { flatProfile } from '../dist/core/limiter/rate.js';
import { blockMs } from '../dist/core/purchase/backoff.js';
import { fileRates } from '../dist/store/limiter/file-rates.js';
import { MemoryLimiter } from '../dist/store/limiter/memory-limiter.js';
import { QueuedLimiter } from '../dist/store/limiter/queued-limiter.js';
import { SharedRates } from '../dist/store/limiter/shared-rates.js';
import { pgRates } from '../dist/store/postgres/pg-rates.js';
import { connectStore } from '../dist/store/postgres/schema/store-schema.js';

const { name, store, team, service, limit, heavyEvery } = JSON.parse(process.argv[2]);
const profile = flatProfile(limit);
const postgres = store?.url ? await connectStore(store.url, { applicationName: `bench ${name}`, max: 2 }) : null;
const file = store?.dir && join(store.dir, team);
const rates = postgres ? pgRates(postgres, team) : file ? fileRates(`${file}.json`, `${file}.block.json`) : null;
const limiter = rates ? new QueuedLimiter(new SharedRates(profile, rates, 'bench')) : new MemoryLimiter(profile);
const pool = new Pool(service, { connections: 100, pipelining: 1, keepAliveTimeout: 600_000 });
const stop = new AbortController();
setMaxListeners(0, stop.signal);

/** An answer has rate cost one, the start of an agent run two. */
async function send(path) {
  const { statusCode, headers, body } = await pool.request({
    ...{ method: 'POST', path, headers: { 'content-type': 'application/json', 'x-api-key': name } },
    body: '{"query":"bench"}',
  });
  await body.dump();
  return { statusCode, retryAfter: headers['retry-after'] };
}

let calls = 0;
async function callOn() {
  while (!stop.signal.aborted) {
    const weight = heavyEvery > 0 && ++calls % heavyEvery === 0 ? 2 : 1;
    const rateCost = { rateClass: 'contents', weight };
    await takeTurn(limiter, rateCost, stop.signal);
    const { statusCode, retryAfter } = await send(weight === 2 ? '/agent/runs' : '/answer');
    // A 429 blocks the limiter, as in `purchase`.
    if (statusCode === 429) {
      const ms = retryAfter ? Number(retryAfter) * 1000 : blockMs(0, Math.random());
      await limiter.block(ms, 'reported by the service', rateCost);
    }
  }
}

await Promise.all(Array.from({ length: 2 * limit }, () => send('/__warm')));
process.stdin.resume();
process.stdin.on('end', () => stop.abort());
console.log('ready');
await Promise.allSettled(Array.from({ length: 2 * limit }, callOn));
await limiter.close();
await Promise.race([postgres?.close(), delay(1000)]);
process.exit(0);
