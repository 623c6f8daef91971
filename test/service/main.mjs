// The service as a process of its own: node test/service/main.mjs '{"qps":10}' prints its URL, answers GET /__log, /__purchases and
// /__runs and POST /__next, and ends with its standard input.
import { startService } from './service.mjs';

const service = await startService(JSON.parse(process.argv[2] ?? '{}'));
console.log(service.url);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
