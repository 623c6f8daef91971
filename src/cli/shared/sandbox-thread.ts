import { parentPort, workerData } from 'node:worker_threads';
import { type SandboxOptions, startSandbox } from '../../sandbox/index.js';

/**
 * Runs the embedded sandbox in a thread of its own. On the worker's event loop, the sandbox would receive requests late
 * during a load, and its strict rate limit would refuse requests that were sent in time. The thread posts `{ url }` or `{
 * error }`. Any message closes the sandbox.
 */
const port = parentPort;
if (port === null) throw new Error('sandbox-thread runs only as a worker thread of the command');

try {
  const sandbox = await startSandbox(workerData as Partial<SandboxOptions>);
  port.once('message', () => {
    void sandbox.close().then(() => port.close());
  });
  port.postMessage({ url: sandbox.url });
} catch (error) {
  port.postMessage({ error: error instanceof Error ? error.message : String(error) });
  port.close();
}
