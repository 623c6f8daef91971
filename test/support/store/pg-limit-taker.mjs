// A process in which eight callers take turns of a team's limit until it is killed. It prints the time of each start, by a clock that all
// processes of the machine share. A line `block <ms>` on its input blocks the team.
import { createInterface } from 'node:readline';
import { takeTurn } from '../../../dist/core/limiter/limiter.js';
import { flatProfile } from '../../../dist/core/limiter/rate.js';
import { QueuedLimiter } from '../../../dist/store/limiter/queued-limiter.js';
import { connectStore } from '../../../dist/store/postgres/open-store.js';
import { PgRateSource } from '../../../dist/store/postgres/pg-rate-source.js';

const { url, qps } = JSON.parse(process.argv[2]);
const postgres = await connectStore(url, { applicationName: 'taker', max: 2, patienceMs: 60_000 });
const limiter = new QueuedLimiter(new PgRateSource({ postgres, team: 'team', key: 'key', profile: flatProfile(qps) }));

createInterface({ input: process.stdin }).on('line', async (line) => {
  await limiter.block(Number(line.split(' ')[1]), 'a block');
  process.stdout.write('blocked\n');
});

async function callOn() {
  for (;;) {
    await takeTurn(limiter, { rateClass: 'contents', weight: 1 });
    process.stdout.write(`${Number(process.hrtime.bigint()) / 1e6}\n`);
  }
}
await Promise.all(Array.from({ length: 8 }, callOn));
