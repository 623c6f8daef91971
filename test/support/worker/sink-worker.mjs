// node sink-worker.mjs <JSON: address, namespace, taskQueue, codePath, log, everyThirdFails, ms, plugin>: a worker with the sink `mine`, which
// appends each call to the file `log`: the batch, and after `ms` that it is loaded. Prints `ready`.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from '../../../dist/worker/index.js';

const { address, namespace, taskQueue, codePath, log, everyThirdFails, ms, plugin } = JSON.parse(process.argv[2]);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const note = (line) => appendFileSync(log, `${JSON.stringify({ pid: process.pid, ...line })}\n`);
let calls = 0;
const mine = {
  async load(batch, { signal }) {
    calls++;
    note({ batch });
    if (everyThirdFails && calls % 3 === 0) throw new Error('the third call fails');
    await delay(ms, undefined, { signal });
    note({ loaded: batch.batchId });
  },
};
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  ...{ connection, namespace, taskQueue, workflowBundle: { codePath } },
  plugins: [new SearchflowPlugin({ sinks: { mine }, say: console.error, ...plugin })],
});
const running = worker.run();
console.log('ready');
await running;
await connection.close();
