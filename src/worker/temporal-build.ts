import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { InstallStep } from './temporal-install.js';

const MODULE = 'github.com/temporalio/cli/cmd/temporal';

/** Builds Temporal's program with Go, where Go is on PATH: minutes. Answers with the path; throws Go's last words. */
export async function buildTemporal({ dir, version, program, env, signal }: InstallStep): Promise<string> {
  const child = spawn('go', ['install', `${MODULE}@${version}`], {
    // Wherever the command was called: no go.mod of somebody's may have a say.
    cwd: dir,
    env: { ...env, GOBIN: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  // Interrupted, Go ends its compilers and removes its temporary files.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = await once(child, 'close');
    if (code === 0) return join(dir, program);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(missing ? 'Go is not on PATH' : `go install: ${(cause as Error).message}`, { cause });
  } finally {
    signal.removeEventListener('abort', stop);
  }
  const words = said.trim().split('\n').slice(-3).join(' / ');
  throw new Error(`go install ${MODULE}@${version}: ${words || 'it failed without a word'}`);
}
