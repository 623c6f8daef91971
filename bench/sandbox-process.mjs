// The sandbox in a process of its own: node bench/sandbox-process.mjs '{"qps":10}'. Prints its URL and its start (Unix ms), and waits for
// the end of its input.
import { startSandbox } from 'searchflow/sandbox';

const startedAt = Date.now();
const sandbox = await startSandbox(JSON.parse(process.argv[2] ?? '{}'));
console.log(`${sandbox.url} ${startedAt}`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
