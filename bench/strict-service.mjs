// A service with a strict limit, in a process of its own: node bench/strict-service.mjs '{"limit":10,"latencyMs":400}'. Nothing
// of ours judges here: in any second at most `limit` units are let in, each arrival is written down. Prints its URL.
import { createServer } from 'node:http';

const { limit, latencyMs = 400 } = JSON.parse(process.argv[2] ?? '{}');
const arrivals = [];
let admitted = [];
/** The next call is told to hold back for so many seconds. */
let tell = null;

function answer(request, response, at) {
  const [, path, worker, weight] = request.url.split('/');
  if (path === 'warm') return response.end();
  if (path === 'tell') {
    tell = Number(worker);
    return response.end();
  }
  if (path === 'log') return response.end(JSON.stringify(arrivals));
  const units = Number(weight);
  const arrival = { at, worker, units, refused: false, told: null };
  arrivals.push(arrival);
  if (tell !== null) {
    arrival.refused = true;
    arrival.told = tell;
    response.writeHead(429, { 'retry-after': String(tell) });
    tell = null;
    return response.end();
  }
  admitted = admitted.filter((one) => one.at > at - 1000);
  if (admitted.reduce((sum, one) => sum + one.units, 0) + units > limit) {
    arrival.refused = true;
    // How much too early it was.
    arrival.earlyMs = admitted[0].at + 1000 - at;
    response.writeHead(429);
    return response.end();
  }
  admitted.push(arrival);
  setTimeout(() => response.end('{}'), latencyMs);
}

const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) =>
  answer(request, response, performance.now()),
);
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
