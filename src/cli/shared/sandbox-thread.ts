import { parentPort, workerData } from 'node:worker_threads';
import { type SandboxOptions, startSandbox } from '../../sandbox/index.js';

/**
 * The embedded sandbox, in a thread of its own: on the worker's event loop it would take requests late whenever a load holds
 * that loop, and its strict limit would refuse what was sent in time. Posts `{ url }`, or `{ error }`; any message closes it.
 */
const port = parentPort;
if (port === null) throw new Error('sandbox-thread is started by the command, not by hand');

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
