// A team's own worker with the plugin: node bench/plugin-worker.mjs '{"address":…,"url":…,"dir":…,"qps":10,"hosts":[]}'. Prints a line when it
// runs, and ends with its standard input.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from 'searchflow/worker';
import { workflowSource } from '../dist/worker/host/worker-host.js';

const { address, url, dir, qps, hosts } = JSON.parse(process.argv[2]);
process.chdir(dir);
Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address });
const plugin = new SearchflowPlugin({
  apiKey: 'bench-key',
  baseUrl: url,
  origin: 'sandbox',
  stateDir: '.searchflow',
  qps,
  hosts,
});
const worker = await Worker.create({ connection, ...workflowSource(), taskQueue: 'bench', plugins: [plugin] });
process.stdin.resume();
process.stdin.on('end', () => worker.shutdown());
const ended = worker.run();
console.log('running');
await ended;
await connection.close();
