import { spawn } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import type { Output } from '../../api/outputs/index.js';
import { makeFolder } from '../../files/make-folder.js';
import { writeDurably } from '../../files/write-durably.js';
import { mustNotBeAfter } from '../flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { printable } from '../text.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 366;
const TEAM = 'team';

export async function report(context: Context, what: string, flags: Flags<'report'>): Promise<ExitCode> {
  const { terminal } = context;
  const { range, mistakes } = rangeOf(flags, Date.now());
  const out = flags.out;
  if (out !== undefined && out !== '-' && !/\.html?$/i.test(out))
    mistakes.push(`--out: '${printable(out)}' must end with .html, or be - for stdout.`);
  if (out === '-' && terminal.json) mistakes.push('--out - and --json both write to stdout. Name a file for --out.');
  if (flags.open && out === '-') mistakes.push('--open needs a file. Name a file for --out.');
  if (flags.open && terminal.json && out === undefined) mistakes.push('--open needs a file. Name a file for --out.');
  return withRuntime(context, settings(context, {}, mistakes), { bounded: true }, async ({ runtime, stopped }) => {
    const found = await runtime.report({ job: what === TEAM ? null : what, ...range });
    if (terminal.json) terminal.data(JSON.stringify(found));
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
    if (flags.open) await openFile(context, file);
  });
}

function rangeOf({ since, until }: Flags<'report'>, now: number) {
  const mistakes: string[] = [];
  const last = until ?? now - (now % DAY_MS) + DAY_MS;
  if (since && last && since >= last) mistakes.push(mustNotBeAfter(since, last));
  else if (since && last - since > MOST_DAYS * DAY_MS)
    mistakes.push(`A report has at most ${MOST_DAYS} days. Pass a later --since.`);
  return { mistakes, range: { since, until: last } };
}

/** A name without characters that a file system refuses. */
const fileName = ({ job }: Output<'report'>): string => (job?.job ?? TEAM).replace(/[^\w.-]/g, '_');

const OPEN_MS = 5000;

/** Opens a file with the program of the platform. Without a terminal nothing is opened. */
async function openFile({ terminal, env }: Context, file: string): Promise<void> {
  if (!terminal.live) {
    terminal.say('Not opened: stderr is not a terminal.');
    return;
  }
  const [command, args] = opener(process.platform, file);
  const problem = await new Promise<string | null>((done) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true, env: env as NodeJS.ProcessEnv });
    child.once('error', (error) => done(error.message));
    child.once('exit', (code) => done(code === 0 ? null : `exit code ${code}`));
    child.unref();
    setTimeout(done, OPEN_MS, null).unref();
  });
  if (problem !== null)
    terminal.say(`Not opened: ${command} failed (${printable(problem)}). Open the file in a browser.`);
}

/** The program that opens a file, without a shell. */
export function opener(platform: NodeJS.Platform, file: string): readonly [command: string, args: string[]] {
  if (platform === 'darwin') return ['open', [file]];
  if (platform === 'win32') return ['explorer.exe', [file]];
  return ['xdg-open', [file]];
}
