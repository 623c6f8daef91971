// Runs the service as a process of its own: node test/service/main.mjs '{"qps":10}'. It prints its URL. It also answers GET /__log,
// /__purchases and /__runs, and POST /__next. It ends when its standard input ends.
import { startService } from './service.mjs';

const service = await startService(JSON.parse(process.argv[2] ?? '{}'));
console.log(service.url);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
