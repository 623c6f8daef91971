// node alone-worker.mjs <JSON: address, namespace, taskQueue, codePath, url>: a worker that has nothing but a key. Prints `ready`.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from '../../../dist/worker/index.js';

const { address, namespace, taskQueue, codePath, url } = JSON.parse(process.argv[2]);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  ...{ connection, namespace, taskQueue, workflowBundle: { codePath } },
  plugins: [new SearchflowPlugin({ apiKey: 'key', baseUrl: url, qps: 50 })],
});
const running = worker.run();
console.log('ready');
await running;
