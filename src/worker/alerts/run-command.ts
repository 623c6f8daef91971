import { spawn } from 'node:child_process';
import type { Alert } from '../../core/alerts/alert.js';
import type { Sent } from './post-alert.js';

export interface CommandOptions {
  readonly command: readonly string[];
  /** Longest run of the program, in ms. Afterwards it is killed, with the processes that it has started. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Characters of the program's last line of errors that are kept. */
const KEPT = 200;
/** Variables that the program gets from this process. Others may be secrets. */
const passedOn = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SYSTEMROOT'];

/**
 * Runs a program once with an alert as JSON on its standard input, without a shell. Exit code 0 is a delivery. Its output is dropped, except
 * for the last line on stderr of a program that fails.
 */
export function runCommand(alert: Alert, { command, timeoutMs, signal }: CommandOptions): Promise<Sent> {
  const [file = '', ...args] = command;
  return new Promise((resolve) => {
    const failed = (error: string): void => resolve({ ok: false, error, retryAfterMs: null });
    if (signal?.aborted) return failed('interrupted');
    const child = spawn(file, args, {
      env: environment(alert),
      stdio: ['pipe', 'ignore', 'pipe'],
      shell: false,
      // The program becomes the leader of a group, which can be killed as a whole.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    let tail = '';
    let ended: string | null = null;
    const end = (why: string) => {
      ended ??= why;
      kill(child.pid, () => child.kill('SIGKILL'));
    };
    const timer = setTimeout(
      () => end(`the program was killed, because it ran for more than ${timeoutMs / 1000} s`),
      timeoutMs,
    );
    const interrupt = () => end('interrupted');
    signal?.addEventListener('abort', interrupt, { once: true });
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', interrupt);
    };
    // A program that reads no input, or ends early, closes the pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(alert));
    child.stderr.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('utf8')).slice(-4 * KEPT);
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      over();
      failed(`the program cannot be started (${error.code ?? 'unknown'})`);
    });
    // The exit counts: a process that the program left behind may hold its output open.
    child.on('exit', (code, killedBy) => {
      over();
      child.stderr.destroy();
      if (ended !== null) return failed(ended);
      if (code === 0) return resolve({ ok: true });
      const how = code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`;
      const line = lastLine(tail);
      failed(`the program ${how}${line === '' ? '' : `: ${line}`}`);
    });
  });
}

function environment({ id, type, text, data }: Alert): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(
    passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  return {
    ...kept,
    SEARCHFLOW_ALERT_ID: id,
    SEARCHFLOW_ALERT_TYPE: type,
    SEARCHFLOW_ALERT_TEXT: text,
    SEARCHFLOW_ALERT_JOB: typeof data.job === 'string' ? data.job : '',
  };
}

function kill(pid: number | undefined, only: () => void): void {
  try {
    if (pid === undefined || process.platform === 'win32') only();
    else process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}

function lastLine(text: string): string {
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  return line
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim()
    .slice(0, KEPT);
}
