// A process that publishes a job, and kills itself at a step. Steps are statements of DuckDB and PostgreSQL and changes of files; each has a
// number from 1. `at`: the step, or 0 to count the steps, which are then printed. `address`: the warehouse; `request`: JSON;
// `extensions`: folder with extensions of DuckDB.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DuckDBConnection } from '@duckdb/node-api';
import pg from 'pg';
import { createWarehouses } from '../../../dist/warehouse/index.js';

const [, , address, request, at, extensions = null] = process.argv;
let steps = 0;

/** Replaces a function by one that counts a step before and a step after the work. */
function counted(object, name) {
  const real = object[name];
  const step = () => {
    if (++steps === Number(at)) process.kill(process.pid, 'SIGKILL');
  };
  object[name] = function (...args) {
    step();
    const result = real.apply(this, args);
    if (typeof result?.then === 'function') return result.finally(step);
    step();
    return result;
  };
}

const warehouses = createWarehouses({ extensions });
const { publisher } = warehouses.open(address);
for (const name of ['rename', 'rm', 'mkdir', 'open']) counted(fs.promises, name);
counted(fs, 'mkdirSync');
syncBuiltinESMExports();
for (const name of ['run', 'runAndReadAll']) counted(DuckDBConnection.prototype, name);
counted(pg.Client.prototype, 'query');
try {
  const { tables } = await publisher.publish(JSON.parse(request));
  process.stdout.write(`${JSON.stringify({ steps, tables })}\n`);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: `${error.name}: ${error.message}` })}\n`);
}
await warehouses.close();
