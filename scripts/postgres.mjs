// npm run -s postgres: a PostgreSQL on this machine to try a store, a warehouse and a source with, without Docker. Prints the settings and
// runs until Ctrl-C, which deletes its data. Its password is random, and is in a file that only this user may read.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres-server.mjs';

const password = randomBytes(24).toString('base64url');
const server = await startPostgres({ password });
const address = new URL(await server.database('searchflow'));
const [warehouse, source] = [new URL(await server.database('dw')), new URL(await server.database('shop'))];
const folder = mkdtempSync(join(tmpdir(), 'searchflow-pgpass-'));
const file = join(folder, 'pgpass');
writeFileSync(file, `${address.hostname}:${address.port}:*:${address.username}:${password}\n`, {
  flag: 'wx',
  mode: 0o600,
});
for (const url of [address, warehouse, source]) url.password = '';
process.stdout.write(
  `export PGPASSFILE=${file}\n` +
    `export SEARCHFLOW_STORE=${address.href}\n` +
    `export SEARCHFLOW_WAREHOUSE_URL=${warehouse.href}\n` +
    `export SEARCHFLOW_SOURCE_URL=${source.href}\n`,
);
process.stderr.write(
  `Copy these lines into other terminals: a store, a warehouse and a source, all empty. The password is in the file.\n` +
    'Runs until Ctrl-C; its data is deleted then.\n',
);

let stopRequested = false;
const stop = async () => {
  if (stopRequested) return;
  stopRequested = true;
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
  process.exit(0);
};
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
