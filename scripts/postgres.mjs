// npm run -s postgres: a PostgreSQL of this machine to try a store with, without Docker. Prints its address and runs until
// Ctrl-C; its data goes with it.
import { startPostgres } from '../test/support/postgres-server.mjs';

const server = await startPostgres();
process.stdout.write(`${await server.database('searchflow')}\n`);
process.stderr.write(
  'In other terminals: export SEARCHFLOW_STORE=<this address>. Runs until Ctrl-C; then its data is gone.\n',
);

let stopping = false;
const stop = async () => {
  if (stopping) return;
  stopping = true;
  await server.stop();
  process.exit(0);
};
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
