import { stripVTControlCharacters } from 'node:util';
import type { Argument, Command, Option } from 'commander';
import { buildProgram } from '../../../src/cli/program.js';
import { wordsOf } from './type-command.js';

/** A wrong command line, and a text that its refusal must have: the flag, argument or word that is wrong. */
export interface WrongLine {
  readonly words: readonly string[];
  readonly names: string;
}

/** Values that are wrong for a flag, by the placeholder of its value. */
const wrongValues: Readonly<Record<string, readonly string[]>> = {
  n: ['x', '', ' ', '-5', 'NaN', '0x10', '1_000', '1e3', '999999999999999999999'],
  days: ['x', '', '-1', 'NaN', '1.5', '999999999999'],
  dollars: ['much', '', '-1', '1,50', 'NaN', '1e3', '€2', 'Infinity'],
  duration: ['x', '', '5', '-1d', '1.5h', '99999999d', '1 month'],
  percent: ['x', '', '-1%', '0%', '101%', '20%%'],
  time: ['yesterday', '', '2026-13-01', '2026-02-30', '7x', '25:61', '2026-01-31T18:00'],
  day: ['yesterday', '', '2026-13-01', '2026-02-30', '7x', '5h'],
  'name=json': ['novalue', '', '=1', '1=1'],
  'key=value': ['novalue', '', '=1'],
  char: ['ab', '', '\n', '"'],
  zone: ['Nowhere/City', ''],
  expression: ['x', '', '* * *', '99 * * * *', '* * * * * * * *'],
  address: ['mysql://host/db', 'md:db', ':memory:', 'postgres:/host/db', 'postgres://', ''],
  share: ['x', '', '-1', '2', 'NaN'],
  type: ['', 'a,,b'],
  effort: ['xxhigh', ''],
  'n|%': ['x', '-1', '1.5', '101%', '%'],
  fault: ['', 'kind=explode', '{'],
  url: ['', 'x', 'no url'],
  target: ['', 'ftp://host/x', 's3://'],
};
/** Values that are wrong for one flag only. */
const wrongByFlag: Readonly<Record<string, readonly string[]>> = {
  '--schema': ['', 'nowhere.json', '.'],
  '--request': ['', 'nowhere.json', '.'],
  '--csv': [''],
  '--parquet': [''],
  '--encoding': ['', 'klingon'],
  '--rate-profile': ['', 'warp', 'nowhere.json'],
  '--schedule-name': ['', '../x', 'a b', 'x'.repeat(101)],
  '--as': ['', '../x', 'a b'],
  '--table': [''],
  '--sql': [''],
  '--job': [''],
  '--url-column': [''],
  '--secret-file': [''],
  '--publish-key': [''],
  '--key': [''],
  '--previous': [''],
  '--ledger': [''],
};

/** Words that a terminal, a shell, a database or JavaScript may take for something else. */
const hostile = [
  '\u001b[31mred\u001b[0m',
  'two\nlines',
  '\u202edesrever',
  '__proto__',
  'constructor',
  '$(id)',
  "'; drop table jobs; --",
  '../../../etc/passwd',
  'x'.repeat(100_000),
  '🙂',
];

export const commandsIn = (command: Command): Command[] => [command, ...command.commands.flatMap(commandsIn)];
/** The words of a command after the program's name, such as `events sync`. */
export const pathOf = (command: Command): string[] =>
  command.parent ? [...pathOf(command.parent), command.name()] : [];

/** The text that `--help` of a command prints, at a width that breaks no line. */
export function helpOf(command: Command): string {
  let text = '';
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut, getOutHelpWidth: () => 1000 }).outputHelp();
  return text;
}

/** The command lines under `Examples:` at the end of a help text. */
export function examplesIn(help: string): string[] {
  const [, lines = ''] = /\nExamples?:\n((?: {2}searchflow .*\n)+)$/.exec(help) ?? [];
  return lines.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()]));
}

/** Wrong command lines of every command, made from the description of the program: its commands, arguments, flags and examples. */
export function wrongLines(): readonly WrongLine[] {
  const program = buildProgram('0.0.0', () => undefined);
  return commandsIn(program).flatMap((command) => [...linesOf(command)]);
}

function* linesOf(command: Command): Generator<WrongLine> {
  const path = pathOf(command);
  if (command.commands.length > 0 && command.registeredArguments.length === 0) {
    for (const word of ['nonesuch', 'enrihc', '--nonesuch', ...hostile])
      yield { words: [...path, word], names: shownStart(word) };
  }
  // Groups of commands do nothing themselves.
  const [example] = examplesIn(helpOf(command));
  if (example === undefined || !example.startsWith(['searchflow', ...path].join(' '))) return;
  const base = wordsOf(example).slice(1);
  if (command.commands.some(({ parent }) => parent === command && base.length > path.length && isSub(command, base)))
    return;
  yield { words: [...base, '--nonesuch'], names: '--nonesuch' };
  yield { words: [...base, '--nonesuch=1'], names: '--nonesuch' };
  yield { words: [...base, '-Z'], names: '-Z' };
  yield {
    words: [...base, ...['a', 'b', 'c', 'd']],
    names: command.commands.length > 0 ? 'unknown command' : 'too many arguments',
  };
  yield* ofArguments(command.registeredArguments, path, base);
  const { parent } = command;
  for (const { long, required } of parent?.parent ? parent.options : [])
    if (long && !command.options.some((own) => own.long === long))
      yield { words: [...base, long, ...(required ? ['1'] : [])], names: long };
  // The global flags are the same for every command, so they are tried with one of them.
  const own = command.options.filter((option) => option.helpGroupHeading !== GLOBAL || command.name() === 'enrich');
  for (const option of own) yield* ofOption(option, command, without(base, option));
}

/** Heading of the global flags in the help of each command. */
const GLOBAL = 'Global options:';

const isSub = (command: Command, base: readonly string[]) =>
  command.commands.some((one) => one.name() === base[pathOf(command).length]);

function* ofArguments(
  args: readonly Argument[],
  path: readonly string[],
  base: readonly string[],
): Generator<WrongLine> {
  const [first] = args;
  if (!first?.required) return;
  const at = base.findIndex((word) => word.startsWith('--'));
  const flags = at < 0 ? [] : base.slice(at);
  yield { words: [...path, ...flags], names: `'${first.name()}'` };
}

function* ofOption(option: Option, command: Command, base: readonly string[]): Generator<WrongLine> {
  const flag = option.long ?? option.flags;
  const misspelt = `${flag.slice(0, -1)}q${flag.slice(-1)}`;
  yield { words: [...base, ...(option.mandatory ? [flag, 'x'] : []), misspelt], names: misspelt };
  if (option.isBoolean() || option.negate) {
    yield { words: [...base, `${flag}=yes`], names: flag };
    return;
  }
  if (option.required) yield { words: [...base, flag], names: flag };
  const choices = option.argChoices;
  if (choices) {
    for (const wrong of ['nonesuch', '', choices[0]?.toUpperCase() ?? '', ...hostile.slice(0, 4)])
      yield { words: [...base, `${flag}=${wrong}`], names: flag };
    return;
  }
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1] ?? '';
  const own = wrongByFlag[flag];
  const values = own ?? wrongValues[placeholder] ?? [];
  for (const wrong of values) yield { words: [...base, ...needed(flag, command), `${flag}=${wrong}`], names: flag };
  // A word that is no number, time or choice stays wrong in any disguise. The flags of a command try the words in turn.
  const nth = command.options.indexOf(option);
  if (own === undefined && values.includes('x'))
    for (const wrong of hostile.filter((_, index) => (index + nth) % 4 === 0))
      yield { words: [...base, ...needed(flag, command), `${flag}=${wrong}`], names: flag };
}

/** Flags without which a flag is refused for another reason. */
function needed(flag: string, command: Command): string[] {
  const has = (other: string) => command.options.some(({ long }) => long === other);
  if (flag === '--stop-after') return ['--stop-at-failed', '20%'];
  if (flag === '--tz' && has('--cron')) return ['--cron', '0 6 * * *'];
  if (flag === '--schedule-name') return ['--every', '1d'];
  if (flag === '--csv-delimiter' && has('--csv')) return ['--csv', 'out/new.csv'];
  if (flag === '--publish-key') return ['--publish', 'out/lake', '--publish-mode', 'merge'];
  if (flag === '--rows-per-run') return command.name() === 'enrich' ? ['--op', 'agent', '--query', 'x'] : [];
  if (flag === '--num-results') return ['--op', 'search', '--query', 'x'];
  if (flag === '--effort' && command.name() === 'enrich') return ['--op', 'agent', '--query', 'x'];
  if (flag === '--table' || flag === '--sql') return ['--job', 'x'];
  if (flag === '--key' && command.name() === 'publish') return ['--mode', 'merge'];
  return [];
}

/** A command line without a flag and its value. */
function without(base: readonly string[], { long, required }: Option): readonly string[] {
  const at = base.indexOf(long ?? '');
  return at < 0 ? base : [...base.slice(0, at), ...base.slice(at + (required ? 2 : 1))];
}

/** The beginning of a word as a terminal shows it. */
function shownStart(word: string): string {
  const [plain = ''] = stripVTControlCharacters(word).match(/^[ -~]+/) ?? [];
  return plain.slice(0, 100);
}
