import { spawn } from 'node:child_process';
import type { Alert } from '../../core/alerts/alert.js';
import type { Sent } from './post-alert.js';

/** Characters of the program's last line of errors that are kept. */
const KEPT = 200;
/** Variables that the program gets from this process. Others may be secrets. */
const passedOn = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SYSTEMROOT'];
/** The program becomes the leader of a group, which can be killed as a whole. */
const isGroup = process.platform !== 'win32';

/**
 * Runs a program once with an alert as JSON on its standard input, without a shell. Exit code 0 is a delivery. Its output is dropped, except
 * for the last line on stderr of a program that fails. After `timeoutMs` it is killed, with the processes that it has started.
 */
export function runCommand(
  alert: Alert,
  command: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Sent> {
  const [file = '', ...args] = command;
  const late = AbortSignal.timeout(timeoutMs);
  const cut = signal ? AbortSignal.any([late, signal]) : late;
  const failed = (error: string): Sent => ({ ok: false, error, retryAfterMs: null });
  const unstarted = ({ code = 'unknown' }: NodeJS.ErrnoException) => failed(`the program cannot be started (${code})`);
  return new Promise<Sent>((resolve) => {
    const child = spawn(file, args, {
      ...{ env: environment(alert), detached: isGroup, windowsHide: true },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const kill = () => {
      try {
        if (isGroup) process.kill(-(child.pid as number), 'SIGKILL');
        else child.kill('SIGKILL');
      } catch {
        // The group has ended already.
      }
    };
    if (cut.aborted) kill();
    else cut.addEventListener('abort', kill, { once: true });
    // A program that reads no input, or ends early, closes the pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(alert));
    let tail = '';
    child.stderr.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('utf8')).slice(-4 * KEPT);
    });
    child.on('error', (error) => resolve(unstarted(error)));
    // The exit counts: a process that the program left behind may hold its output open.
    child.on('exit', (code, killedBy) => {
      cut.removeEventListener('abort', kill);
      child.stderr.destroy();
      const how = code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`;
      if (code === 0) resolve({ ok: true });
      else if (late.aborted)
        resolve(failed(`the program was killed, because it ran for more than ${timeoutMs / 1000} s`));
      else if (cut.aborted) resolve(failed('interrupted'));
      else resolve(failed(`the program ${[how, lastLine(tail)].filter(Boolean).join(': ')}`));
    });
    // Thrown for an alert that is too long for a variable of the environment, for example.
  }).catch(unstarted);
}

function environment({ id, type, text, data }: Alert): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
    SEARCHFLOW_ALERT_ID: id,
    SEARCHFLOW_ALERT_TYPE: type,
    SEARCHFLOW_ALERT_TEXT: text,
    SEARCHFLOW_ALERT_JOB: typeof data.job === 'string' ? data.job : '',
  };
}

const lastLine = (text: string): string =>
  (text.trimEnd().split('\n').at(-1) ?? '')
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim()
    .slice(0, KEPT);
