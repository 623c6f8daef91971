import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { inPackage } from '../../../src/files/package-root.js';

/** Returns DuckDB's setting in a new process after these calls; other tests of this process may have declared a walk. */
function allocatorAfter(calls: string, env = '{}'): string {
  const module = pathToFileURL(inPackage('dist', 'files', 'process-memory.js'));
  const script = `
    import { limitCommandMemory, limitWalkMemory } from ${JSON.stringify(module)};
    const env = ${env};
    ${calls} limitCommandMemory(env);
    console.log(env.DUCKDB_JE_MALLOC_CONF);`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }).trim();
}

it('a user’s own setting of DuckDB’s allocator stays', () => {
  expect(allocatorAfter('', `{ DUCKDB_JE_MALLOC_CONF: 'narenas:4' }`)).toBe('narenas:4');
  const ours = allocatorAfter('');
  expect(ours).toContain('narenas:1');
  // The document for workers of users names the same setting.
  expect(readFileSync(inPackage('docs', 'tasks', 'workers.md'), 'utf8')).toContain(`DUCKDB_JE_MALLOC_CONF=${ours} `);
});

it('DuckDB returns free pages sooner in a walk', () => {
  expect(allocatorAfter('')).toContain('dirty_decay_ms:500');
  expect(allocatorAfter('limitWalkMemory();')).toContain('dirty_decay_ms:100');
});

/** Returns the size of the space of new objects, in bytes, of a process that ran `setting` and then made millions of objects. */
function newSpaceAfter(setting: string): number {
  const module = pathToFileURL(inPackage('dist', 'files', 'process-memory.js'));
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { Worker } from 'node:worker_threads';
    import { limitWalkMemory, limitCommandMemory, limitHeapGrowth } from ${JSON.stringify(module)};
    ${setting}
    let kept = [];
    for (let made = 0; made < 3_000_000; made++) {
      kept.push({ made, list: [made] });
      if (kept.length > 200_000) kept = [];
    }
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }));
}

it('the space of new objects stays small in a command, also after a thread has begun', () => {
  const thread = `await new Promise((ended) => new Worker('', { eval: true }).once('exit', ended));`;
  const small = newSpaceAfter(`limitCommandMemory({}); limitWalkMemory(); ${thread} limitHeapGrowth();`);
  expect(newSpaceAfter('limitCommandMemory({}); limitHeapGrowth();')).toBeGreaterThan(4 * small);
  expect(newSpaceAfter(`limitWalkMemory(); ${thread} limitHeapGrowth();`)).toBeGreaterThan(4 * small);
});
