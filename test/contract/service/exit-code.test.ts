import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('a process that had a PostgreSQL of its own keeps its exit code, so that a failed run fails', () => {
  const server = new URL('../../support/postgres-server.mjs', import.meta.url).href;
  const script = `const { startPostgres } = await import('${server}'); await (await startPostgres()).stop(); process.exitCode = 3;`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(status, stderr).toBe(3);
});
