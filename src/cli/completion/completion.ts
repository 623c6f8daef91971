import type { Command } from 'commander';
import { shellWord } from '../../core/text/shell-word.js';
import { inPackage } from '../../files/package-root.js';
import { loadSettingsFile } from '../set-up/settings-file.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { printable } from '../text/printable.js';
import { type Candidates, candidates } from './candidates.js';
import { knownNames } from './known-names.js';
import { shellLine } from './shell-line.js';
import { completionScript, type Shell } from './shells.js';

/** Most characters of a description beside a candidate. */
const MOST_ABOUT = 80;

/**
 * `searchflow completion SHELL`: prints the script of the shell. With `words`, which only the script passes, prints the kind of the
 * candidates for the last word, and the candidates, one a line. Whatever is wrong then, it prints nothing, because a person is typing.
 */
export async function completion(
  context: Context,
  program: Command,
  shell: Shell,
  words: readonly string[],
): Promise<ExitCode> {
  const { terminal } = context;
  if (words.length === 0) {
    terminal.data(completionScript(shell, [process.execPath, inPackage('dist', 'bin', 'searchflow.js')]).trimEnd());
    return exitCodes.ok;
  }
  try {
    terminal.data((await answer(context, program, shell, words)).join('\n'));
  } catch {
    // Without candidates, the shell completes nothing.
  }
  return exitCodes.ok;
}

async function answer(
  { env: variables, cwd }: Context,
  program: Command,
  shell: Shell,
  words: readonly string[],
): Promise<readonly string[]> {
  // bash passes its line, because its words are split in other places than those of the command; fish passes its last word with quotes.
  const [last = '', breaks = ''] = shell === 'bash' ? words : [words.at(-1)];
  const typed = shell === 'zsh' ? { words: [last], quotedFrom: null } : shellLine(last);
  const before = shell === 'bash' ? typed.words.slice(1, -1) : words.slice(0, -1);
  const current = typed.words.at(-1) ?? '';
  const env = { ...variables };
  loadSettingsFile(before, env, cwd);
  const names = await knownNames(env, cwd);
  const { kind, all } = candidates(program, before, current, names);
  if (shell === 'bash') return [kind, ...bashWords(all, { current, breaks, quotedFrom: typed.quotedFrom })];
  if (shell === 'zsh') return [kind, ...all.map(({ value, about }) => beside(escaped(value), ':', about))];
  return [kind, ...all.map(({ value, about }) => beside(value, '\t', about))];
}

/** Candidates as bash inserts them: quoted, and without the part before the open quote or the last `=` or `:`. */
function bashWords(
  all: Candidates['all'],
  {
    current,
    breaks,
    quotedFrom,
  }: { readonly current: string; readonly breaks: string; readonly quotedFrom: number | null },
): readonly string[] {
  if (quotedFrom !== null) return all.map(({ value }) => value.slice(quotedFrom));
  const ends = ['=', ':'].filter((char) => breaks.includes(char)).map((char) => current.lastIndexOf(char) + 1);
  const from = Math.max(0, ...ends);
  return all.map(({ value }) => shellWord(value.slice(from)));
}

const escaped = (value: string) => value.replace(/[\\:]/g, '\\$&');

const beside = (value: string, between: string, about: string) =>
  about === '' ? value : `${value}${between}${printable(about, MOST_ABOUT)}`;
