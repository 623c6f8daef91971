import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { checkOutput } from './check-output.js';

const main = fileURLToPath(new URL('../../../dist/bin/searchflow.js', import.meta.url));

/** Time for a text to appear, so that a test that waits for it fails with the output. */
const SAYS_WITHIN_MS = 120_000;

/** The built command in a process of its own. */
export interface Running {
  readonly child: ChildProcess;
  out(): string;
  err(): string;
  /** Resolves when the text was written to either stream; rejects when the process ended without it, or did not write it in time. */
  says(text: string | RegExp): Promise<void>;
  /** Resolves to the exit code, or to null after a signal. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts `searchflow …args`. The process gets `env`, and of the environment only the necessary variables, so that it never uses a person's
 * key.
 */
export function startCommand(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Record<string, string> },
): Running {
  const { PATH = '', HOME = '', TEMPORAL_CLI } = process.env;
  const child = spawn(process.execPath, [main, ...args], {
    cwd: options.cwd,
    env: { PATH, HOME, ...(TEMPORAL_CLI ? { TEMPORAL_CLI } : {}), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  const listeners = new Set<() => void>();
  const collect = (name: 'out' | 'err') => (chunk: Buffer) => {
    texts[name] += chunk.toString('utf8');
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', collect('out'));
  child.stderr.on('data', collect('err'));
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const has = (text: string | RegExp) =>
    [texts.out, texts.err].some((said) => (typeof text === 'string' ? said.includes(text) : text.test(said)));
  return {
    child,
    out: () => texts.out,
    err: () => texts.err,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const giveUp = (why: string) => reject(new Error(`${why} without saying "${text}":\n${texts.out}${texts.err}`));
        const late = setTimeout(() => giveUp(`ran for ${SAYS_WITHIN_MS / 1000} s`), SAYS_WITHIN_MS);
        const check = () => {
          if (!has(text)) return;
          listeners.delete(check);
          clearTimeout(late);
          resolve();
        };
        listeners.add(check);
        check();
        void ended.then((code) => {
          clearTimeout(late);
          if (!has(text)) giveUp(`ended with ${code}`);
        });
      }),
  };
}

/** Runs a command to its end, with `input` on its standard input. */
export async function runCommand(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Record<string, string>; readonly input?: string },
) {
  const running = startCommand(args, options);
  running.child.stdin?.end(options.input ?? '');
  const code = await running.ended;
  checkOutput(args, running.out());
  return { code, out: running.out(), err: running.err() };
}
