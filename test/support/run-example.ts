import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';
import { killAllOf } from './jobs/processes.js';
import { fileNamespace } from './temporal.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The path of a file of the examples. */
export const examplePath = (path: string): string => resolve(root, 'examples', path);

/**
 * Runs a script of the examples on the sandbox, in a folder of its own that is removed after the test, or in `folder`. `more`: further
 * variables of the environment.
 */
export async function runExample(script: string, more: Record<string, string> = {}, folder: string | null = null) {
  const cwd = folder ?? mkdtempSync(join(tmpdir(), 'searchflow-example-'));
  const { PATH = '' } = process.env;
  const env = {
    ...{ PATH, HOME: cwd, XDG_STATE_HOME: cwd, SEARCHFLOW_STATE_DIR: join(cwd, 'state') },
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: fileNamespace(),
    SEARCHFLOW: `${process.execPath} ${join(root, 'dist', 'cli', 'main.js')}`,
    ...more,
  };
  onTestFinished(() => {
    killAllOf(join(cwd, 'state'));
    rmSync(cwd, { recursive: true, force: true });
  });
  const child = spawn('sh', [examplePath(script)], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { cwd, out, err, code: child.exitCode };
}
