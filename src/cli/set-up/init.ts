import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import type { Output } from '../../api/command-outputs.js';
import { shellWord } from '../../core/text/shell-word.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { writeNamed } from '../../files/write-durably.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';
import { lines, printable } from '../text.js';

export async function init({ cwd, terminal }: Context, folder: string | undefined): Promise<ExitCode> {
  if (folder?.trim() === '')
    throw new UsageError('invalid-argument', 'The name of the folder is empty. Leave it out for the working folder.');
  const path = resolve(cwd, folder ?? '.');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw new UsageError('invalid-argument', `${printable(path)} is not a folder. Name another one.`);
  const written: string[] = [];
  const kept: string[] = [];
  for (const { path: file, mode, from } of initFiles) {
    const text =
      from === null ? `${ignored.join('\n')}\n` : readFileSync(inPackage('dist', 'init-files', from), 'utf8');
    (writeNew(join(path, file), text, mode) ? written : kept).push(file);
  }
  const missing = kept.includes('.gitignore') ? notIgnored(join(path, '.gitignore')) : [];
  const next = nextCommands(path, cwd);
  const output: Output<'init'> = { kind: 'init', folder: path, written, kept, notIgnored: missing, next };
  const width = Math.max(...initFiles.map((one) => one.path.length));
  const files = initFiles.filter((one) => written.includes(one.path));
  const indented = (texts: readonly string[]) => texts.map((text) => `  ${text}`);
  const text = lines(
    files.length > 0 && [
      `Written to ${printable(path)}:`,
      files.map((one) => `  ${one.path.padEnd(width)}  ${one.what}`),
    ],
    kept.length > 0 && `Kept, because they exist: ${kept.join(', ')}.`,
    missing.length > 0 && ['Add these lines to .gitignore, so that no key or result is committed:', indented(missing)],
    ['Next:', indented(next)],
  );
  terminal.tell(output, text);
  return exitCodes.ok;
}

/** Writes a file that does not exist, with its folder; returns whether it was written. */
function writeNew(path: string, text: string, mode: number): boolean {
  makeFolder(dirname(path), 0o777);
  try {
    writeNamed(path, text, { flag: 'wx', mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function notIgnored(path: string): readonly string[] {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // A folder, a link that leads nowhere or a file that cannot be read has this name.
  }
  const there = text.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, ''));
  return ignored.filter((line) => !there.includes(line.replace(/\/$/, '')));
}

/** Commands to type next: to install the package, if the folder has none, and to print the plan of the job. */
function nextCommands(path: string, cwd: string): readonly string[] {
  const way = relative(cwd, path);
  return [
    ...(way === '' ? [] : [`cd ${shellWord(way.startsWith('..') ? path : way)}`]),
    ...(hasPackage(path) ? [] : [`npm install "$(npm pack --silent ${shellWord(inPackage())})"`]),
    './companies.sh --dry-run',
  ];
}

function hasPackage(path: string): boolean {
  try {
    createRequire(join(path, 'package.json')).resolve('searchflow/package.json');
    return true;
  } catch {
    return false;
  }
}

const ignored = ['.env', '.searchflow/', 'out/', 'node_modules/', '*.tgz'];

const initFiles = [
  { path: '.env', what: 'settings: key, caps, databases', mode: 0o600, from: 'settings.env' },
  { path: '.gitignore', what: 'keeps keys, state and results out of git', mode: 0o644, from: null },
  { path: 'companies.csv', what: 'an input', mode: 0o644, from: 'companies.csv' },
  { path: 'companies.sh', what: 'a job', mode: 0o755, from: 'companies.sh' },
  { path: 'README.md', what: 'the commands of this folder', mode: 0o644, from: 'README.md' },
  { path: 'test/companies.test.mjs', what: 'a test of the job, on a sandbox', mode: 0o644, from: 'companies-test.mjs' },
];
