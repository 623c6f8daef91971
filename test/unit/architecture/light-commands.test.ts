import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));
const statement = /^(?:import|export)\s+(?!type\b)(?:[^;'"]*?\sfrom\s+)?'([^']+)';/gm;

/** The packages that are loaded together with these files. Dynamic imports are left out. */
function packagesWith(...files: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  const queue = files.map((file) => resolve(src, file));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(statement)) {
      if (name.startsWith('.')) queue.push(resolve(dirname(file), name.replace(/\.js$/, '.ts')));
      else if (!name.startsWith('node:')) found.add(name);
    }
  }
  return [...found].sort();
}

it('the help and the version load the parser of the command line and nothing else', () => {
  expect(packagesWith('cli/main.ts')).toEqual(['commander']);
});

it('a command that shows jobs, limits, walks or monitors loads no library of Temporal, of a database or of HTTP before it needs one', () => {
  const commands = ['rows/status', 'rows/jobs', 'limits', 'events/events-status'].map((name) => `cli/${name}.ts`);
  expect(packagesWith('cli/main.ts', ...commands, 'worker/runtime/runtime.ts')).toEqual(['commander', 'zod']);
  expect(packagesWith('cli/monitors.ts', 'cli/agents.ts')).toEqual(['croner', 'zod']);
});

it('a status of a job that its server knows loads the client of Temporal, and no part that starts servers or buys', () => {
  expect(packagesWith('worker/control/temporal-status.ts', 'worker/temporal-server/temporal.ts')).toEqual([
    '@temporalio/client',
    '@temporalio/common',
    // Loaded by the client, too.
    '@temporalio/common/lib/internal-non-workflow/index.js',
    // The settings check the files of prices and rates.
    'zod',
  ]);
});
