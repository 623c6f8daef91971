import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { packPackage } from '../package/packed.js';

const start = {
  bash: 'bash --norc --noprofile -i',
  zsh: 'zsh -f -i',
  fish: 'fish --no-config -i',
};
type ShellName = keyof typeof start;

/** Goes to the begin of a line, and to delete it, in the Emacs mode of all three shells. */
const [HOME, KILL_LINE] = ['\x01', '\x15'];

/**
 * Types lines in a real shell on a terminal and presses Tab after each, with the completion of `script` loaded. Returns the words of each
 * line after that. The lines are never run, only their words are printed.
 */
async function completedIn(
  shell: ShellName,
  lines: readonly string[],
  { script, cwd, env }: { readonly script: string; readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<readonly (readonly string[])[]> {
  const terminal = spawn('script', ['-qec', start[shell], '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'dumb', PS1: '$ ' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let out = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const ended = new Promise((resolve, reject) => terminal.once('error', reject).once('close', resolve));
  terminal.stdin.write(`source '${script}'\n`);
  for (const line of lines) terminal.stdin.write(`${line}\t${HOME}printf '(%s)\\n' begin \n`);
  terminal.stdin.write('exit\n');
  await ended;
  const words = [...stripVTControlCharacters(out).matchAll(/^\(([^%].*)\)\r*$/gm)].map(([, word = '']) => word);
  const groups: string[][] = [];
  for (const word of words) {
    if (word === 'begin') groups.push([]);
    else groups.at(-1)?.push(word);
  }
  return groups;
}

/** Types a line, presses Tab, and deletes the line without running it. */
async function pressedTab(
  shell: ShellName,
  line: string,
  options: { readonly script: string; readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  await completedIn(shell, [`${line}\t${KILL_LINE}true `], options);
}

/** Lines that are completed in each shell in a folder of `completionFolder`, with the words that follow. */
const completedLines: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['searchflow monitors unp', ['searchflow', 'monitors', 'unpause']],
  ['searchflow enrich x.csv --url-c', ['searchflow', 'enrich', 'x.csv', '--url-column']],
  ['searchflow jobs --state pau', ['searchflow', 'jobs', '--state', 'paused']],
  ['searchflow jobs --state=pau', ['searchflow', 'jobs', '--state=paused']],
  ["searchflow jobs --state 'waiting f", ['searchflow', 'jobs', '--state', 'waiting for a worker']],
  ['searchflow enrich x.csv --op find', ['searchflow', 'enrich', 'x.csv', '--op', 'findSimilar']],
  ['searchflow events sync --type webset.item.cr', ['searchflow', 'events', 'sync', '--type', 'webset.item.created']],
  ['searchflow status my-c', ['searchflow', 'status', 'my-companies']],
  ['searchflow schedule show nigh', ['searchflow', 'schedule', 'show', 'nightly']],
  ['searchflow export my-companies --csv a', ['searchflow', 'export', 'my-companies', '--csv', 'a file.csv']],
  ['searchflow export my-companies --csv=a', ['searchflow', 'export', 'my-companies', '--csv=a file.csv']],
];

/** A job that the state folder of `completionFolder` has. */
const entry = {
  staged: {
    ...{ job: 'contents-my-companies-0d4790', name: 'my-companies', origin: 'sandbox', operation: 'contents' },
    ...{
      input: '/in.csv',
      into: '/out.duckdb',
      generation: 'g',
      stageDir: '/stage',
      columns: ['url'],
      unitColumn: 'url',
    },
    ...{ options: {}, rows: 1, badRows: 0, distinctUnits: 1, slices: 1, rowsPerSlice: 1, window: 1, batch: 1 },
  },
  ...{ named: true, csv: null, completed: null, schedule: 'nightly', state: { phase: 'done', since: 1 }, asked: {} },
};

/** Makes a working folder with a file and a state folder for completion. */
export function completionFolder(): { readonly cwd: string; remove(): void } {
  const cwd = mkdtempSync(join(tmpdir(), 'searchflow-completion-'));
  writeFileSync(join(cwd, 'a file.csv'), '');
  mkdirSync(join(cwd, '.searchflow', 'jobs'), { recursive: true });
  writeFileSync(join(cwd, '.searchflow', 'jobs', `${entry.staged.job}.json`), JSON.stringify(entry));
  return { cwd, remove: () => rmSync(cwd, { recursive: true, force: true }) };
}

/**
 * Expects that a shell completes command lines with the installed package: whether its command is in the PATH or not. The path of the package
 * has blanks. Expects also that a line with a command substitution is completed and not run.
 */
export async function expectCompletion(shell: ShellName): Promise<void> {
  const packed = packPackage("searchflow it's packed ");
  const { cwd, remove } = completionFolder();
  try {
    const main = join(packed.project, 'node_modules', 'searchflow', 'dist', 'bin', 'searchflow.js');
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: cwd, LANG: 'C.UTF-8' };
    const script = join(cwd, 'script');
    writeFileSync(script, execFileSync(process.execPath, [main, 'completion', shell], { cwd, env, encoding: 'utf8' }));
    const bin = join(packed.project, 'bin');
    mkdirSync(bin);
    chmodSync(main, 0o755);
    symlinkSync(main, join(bin, 'searchflow'));
    const lines = completedLines.map(([line]) => line);
    const words = completedLines.map(([, completed]) => completed);
    expect(await completedIn(shell, lines, { script, cwd, env })).toEqual(words);
    // The command in the PATH is asked even if the script names another one, as after an upgrade.
    writeFileSync(script, readFileSync(script, 'utf8').replaceAll('searchflow.js', 'gone.js'));
    expect(await completedIn(shell, lines, { script, cwd, env: { ...env, PATH: `${bin}:${PATH}` } })).toEqual(words);
    await pressedTab(shell, 'searchflow status $(touch run-by-tab) --js', { script, cwd, env });
    expect(readdirSync(cwd)).not.toContain('run-by-tab');
  } finally {
    packed.remove();
    remove();
  }
}
