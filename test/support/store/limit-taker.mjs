// A process in which eight callers take turns of a team's limit until it is killed. It prints the time of each start, by a clock that all
// processes of the machine share. A line `block <ms>` on its input blocks the team.
import { createInterface } from 'node:readline';
import { takeTurn } from '../../../dist/core/limiter/limiter.js';
import { flatProfile } from '../../../dist/core/limiter/rate.js';
import { fileRates } from '../../../dist/store/limiter/file-rates.js';
import { QueuedLimiter } from '../../../dist/store/limiter/queued-limiter.js';
import { SharedRates } from '../../../dist/store/limiter/shared-rates.js';
import { pgRates } from '../../../dist/store/postgres/pg-rates.js';
import { connectStore } from '../../../dist/store/postgres/schema/store-schema.js';

const { url, dir, qps } = JSON.parse(process.argv[2]);
const store = dir
  ? fileRates(`${dir}/limit.json`, `${dir}/block.json`)
  : pgRates(await connectStore(url, { applicationName: 'taker', max: 2, patienceMs: 60_000 }), 'team');
const limiter = new QueuedLimiter(new SharedRates(flatProfile(qps), store, 'key'));

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
