// node alone-worker.mjs <JSON: address, namespace, taskQueue, codePath, url, plugin>: a worker that has nothing but a key, and the options
// `plugin`. Without `codePath`, the worker polls only activities. Prints `ready`.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from '../../../dist/worker/index.js';

const { address, namespace, taskQueue, codePath, url, plugin } = JSON.parse(process.argv[2]);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  ...{ connection, namespace, taskQueue, ...(codePath ? { workflowBundle: { codePath } } : {}) },
  plugins: [new SearchflowPlugin({ apiKey: 'key', baseUrl: url, qps: 50, say: console.error, ...plugin })],
});
const running = worker.run();
console.log('ready');
await running;
await connection.close();
