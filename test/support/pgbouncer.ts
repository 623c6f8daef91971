import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/worker/temporal-server/server-files.js';
import type { PostgresServer } from './postgres-server.mjs';

/** Whether this machine has PgBouncer, which most systems install separately from PostgreSQL. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

export interface PgBouncer {
  /** The address of a database through PgBouncer. */
  urlOf(url: string): string;
  stop(): Promise<void>;
}

/** Starts a PgBouncer in front of a server. `more`: further lines of its configuration. */
export async function startPgBouncer(server: PostgresServer, mode: string, more = ''): Promise<PgBouncer> {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-pgbouncer-'));
  const port = await freePort();
  writeFileSync(join(dir, 'users.txt'), `"searchflow" "${server.password}"\n`);
  writeFileSync(
    join(dir, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(dir, 'users.txt')}
pool_mode = ${mode}
default_pool_size = 20
${more}
`,
  );
  // PgBouncer refuses to run as root, so it runs as another user then.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chmodSync(dir, 0o755);
  const args = [...(isRoot ? ['-u', 'nobody'] : []), join(dir, 'pgbouncer.ini')];
  const child: ChildProcess = spawn('pgbouncer', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  await new Promise<void>((up, failed) => {
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('process up')) up();
    });
    void ended.then(() => failed(new Error(`PgBouncer ended: ${said}`)));
  });
  return {
    urlOf: (url) => Object.assign(new URL(url), { port: String(port) }).href,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
