import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type PostgresServer, startPostgres } from '../postgres-server.mjs';

/**
 * A PostgreSQL server of a test file, and a function that starts a process of a script of this folder. The process gets its settings as JSON;
 * each test ends its processes.
 */
export function processesOf(script: string): {
  readonly server: () => PostgresServer;
  readonly start: (settings: object) => ChildProcessWithoutNullStreams;
} {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const children = new Set<ChildProcess>();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
  });
  afterAll(() => server.stop());
  return {
    server: () => server,
    start(settings) {
      const child = spawn(process.execPath, [path, JSON.stringify(settings)]);
      children.add(child);
      child.on('close', () => children.delete(child));
      return child;
    },
  };
}
