// npm run -s postgres: a PostgreSQL on this machine to try a store with, without Docker. Prints its address and runs until
// Ctrl-C, which deletes its data. Its password is random, and is in a file that only this user may read.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres-server.mjs';

const password = randomBytes(24).toString('base64url');
const server = await startPostgres({ password });
const address = new URL(await server.database('searchflow'));
const folder = mkdtempSync(join(tmpdir(), 'searchflow-pgpass-'));
const file = join(folder, 'pgpass');
writeFileSync(file, `${address.hostname}:${address.port}:*:${address.username}:${password}\n`, {
  flag: 'wx',
  mode: 0o600,
});
address.password = '';
process.stdout.write(`${address.href}\n`);
process.stderr.write(
  `Its password is in ${file}. In other terminals:\n` +
    `export PGPASSFILE=${file} SEARCHFLOW_STORE=${address.href}\n` +
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
