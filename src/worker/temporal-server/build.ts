import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { bareEnvironment } from './bare-environment.js';

/** Arguments of both ways of installing. */
export interface InstallStep {
  /** An empty folder on the cache's file system. */
  readonly dir: string;
  readonly version: string;
  readonly program: string;
  readonly source: string;
  readonly archiveSum?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

const MODULE = 'github.com/temporalio/cli/cmd/temporal';

/** The environment for Go: that of any program, with Go's own settings, proxies and certificates. It has no key of ours. */
function goEnvironment(env: InstallStep['env']): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) =>
    /^(GO|CGO_|GIT_|SSL_|XDG_|LOCALAPPDATA$|https?_proxy$|no_proxy$)/i.test(name),
  );
  return { ...bareEnvironment(env), ...Object.fromEntries(own) };
}

/** Builds Temporal's program with Go in some minutes. Returns its path; throws the last lines of Go's output. */
export async function buildTemporal({ dir, version, program, env, signal }: InstallStep): Promise<string> {
  // Without symbols and debug data, because at each start the server reads its whole program.
  const child = spawn('go', ['install', '-ldflags=-s -w', `${MODULE}@${version}`], {
    // This folder has no go.mod, because a go.mod would change the build.
    cwd: dir,
    env: { ...goEnvironment(env), GOBIN: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-2_000);
  });
  // On SIGINT, Go ends its compilers and removes its temporary files.
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
  const words = output.trim().split('\n').slice(-3).join(' / ');
  throw new Error(`go install ${MODULE}@${version}: ${words || 'it failed without a message'}`);
}
