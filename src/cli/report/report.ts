import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Output } from '../../api/command-outputs.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeDurably } from '../../files/write-durably.js';
import { mustNotBeAfter } from '../flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { DAY_MS, printable } from '../text.js';

const MOST_DAYS = 366;
const TEAM = 'team';

export async function report(context: Context, what: string, flags: Flags<'report'>): Promise<ExitCode> {
  const { terminal } = context;
  const { out, open, since } = flags;
  const now = Date.now();
  const until = flags.until ?? now - (now % DAY_MS) + DAY_MS;
  const mistakes: string[] = [];
  if (since && until && since >= until) mistakes.push(mustNotBeAfter(since, until));
  else if (since && until - since > MOST_DAYS * DAY_MS)
    mistakes.push(`A report has at most ${MOST_DAYS} days. Pass a later --since.`);
  if (out !== undefined && out !== '-' && !/\.html?$/i.test(out))
    mistakes.push(`--out: '${printable(out)}' must end with .html, or be - for stdout.`);
  if (out === '-' && terminal.json) mistakes.push('--out - and --json both write to stdout. Name a file for --out.');
  if (open && (out === '-' || (terminal.json && out === undefined)))
    mistakes.push('--open needs a file. Name a file for --out.');
  return withRuntime(context, settings(context, {}, mistakes), { bounded: true }, async ({ runtime, stopped }) => {
    const found = await runtime.report({ job: what === TEAM ? null : what, since, until });
    terminal.result(found);
    if (terminal.json && out === undefined) return exitCodes.ok;
    const { reportPage } = await import('./report-page.js');
    const html = reportPage(found);
    if (stopped.aborted) return exitCodes.ok;
    if (out === '-') {
      terminal.data(html);
      return exitCodes.ok;
    }
    const file = resolve(context.cwd, out ?? `out/${fileName(found)}-report.html`);
    makeFolder(dirname(file), 0o777);
    await writeDurably(file, html);
    terminal.say(`Written: ${printable(file, 1000)}`);
    if (open) await openFile(context, file);
  });
}

const fileName = ({ job }: Output<'report'>): string => (job?.job ?? TEAM).replace(/[^\w.-]/g, '_');

const OPEN_MS = 5000;

/** Opens a file with the program of the platform, without a shell. Without a terminal nothing is opened. */
async function openFile({ terminal, env }: Context, file: string): Promise<void> {
  if (!terminal.live) {
    terminal.say('Not opened: stderr is not a terminal.');
    return;
  }
  const command = opener(process.platform);
  const child = spawn(command, [file], { stdio: 'ignore', detached: true, env: env as NodeJS.ProcessEnv });
  child.unref();
  const ended = once(child, 'exit').then(([code]) => (code === 0 ? null : `exit code ${code}`));
  const failed = ended.catch((error: Error) => error.message);
  const problem = await Promise.race([failed, sleep(OPEN_MS, null, { ref: false })]);
  if (problem !== null)
    terminal.say(`Not opened: ${command} failed (${printable(problem)}). Open the file in a browser.`);
}

export const opener = (platform: NodeJS.Platform): string =>
  platform === 'darwin' ? 'open' : platform === 'win32' ? 'explorer.exe' : 'xdg-open';
