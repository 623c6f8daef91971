import type { Argument, Command, Option } from 'commander';
import { argumentValues, type KnownNames, optionValues, type Values } from './values.js';

export interface Candidate {
  readonly value: string;
  /** What the value means; empty if the value says it. */
  readonly about: string;
}

/** Values for the word at the cursor: a list, or the files or folders that the shell finds. */
export interface Candidates {
  readonly kind: 'words' | 'files' | 'folders';
  readonly all: readonly Candidate[];
}

const none: Candidates = { kind: 'words', all: [] };

/** A command line that was read up to the cursor. */
interface Line {
  readonly command: Command;
  /** Arguments of the command that were typed already. */
  readonly given: number;
  /** The flag whose value is at the cursor; null for none. */
  readonly open: Option | null;
  /** Whether `--` was typed, after which words are no flags. */
  readonly isClosed: boolean;
}

/** Returns the candidates for `current`, the word at the cursor, which follows the words `before` (without `searchflow`). */
export function candidates(
  program: Command,
  before: readonly string[],
  current: string,
  names: KnownNames,
): Candidates {
  const { command, given, open, isClosed } = readLine(program, before);
  if (open?.required) return fitting(optionValues(open, names), current);
  const flag = /^(--[^=]+)=(.*)$/s.exec(current);
  if (flag && !isClosed) {
    const option = optionOf(command, flag[1] as string);
    if (option === undefined || !(option.required || option.optional)) return none;
    return fitting(optionValues(option, names), flag[2] as string, `${flag[1]}=`);
  }
  if (current.startsWith('-') && current !== '-' && !isClosed) return flags(command, current);
  const argument = argumentAt(command, given);
  const places = [
    ...(open === null ? [] : [fitting(optionValues(open, names), current)]),
    ...(given === 0 ? [subcommands(command, current)] : []),
    ...(argument === undefined ? [] : [fitting(argumentValues(command, argument, names), current)]),
  ];
  const all = places.flatMap((place) => place.all);
  return all.length > 0
    ? { kind: 'words', all }
    : { kind: places.find(({ kind }) => kind !== 'words')?.kind ?? 'words', all };
}

function readLine(program: Command, before: readonly string[]): Line {
  let line: Line = { command: program, given: 0, open: null, isClosed: false };
  for (const word of before) line = { ...line, open: null, ...next(line, word) };
  return line;
}

function next({ command, given, open, isClosed }: Line, word: string): Partial<Line> {
  if (open?.required) return {};
  if (!isClosed && word === '--') return { isClosed: true };
  if (!isClosed && /^-./.test(word)) {
    const option = optionOf(command, word);
    return { open: option && (option.required || option.optional) ? option : null };
  }
  if (open !== null) return {};
  const child = given > 0 ? undefined : command.commands.find((one) => one.name() === word);
  return child === undefined ? { given: given + 1 } : { command: child };
}

const optionOf = ({ options }: Command, word: string): Option | undefined =>
  options.find(({ long, short }) => long === word || short === word);

function argumentAt({ registeredArguments }: Command, given: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[given] ?? (last?.variadic ? last : undefined);
}

function fitting({ kind, words }: Values, typed: string, front = ''): Candidates {
  const all = words.filter((word) => word.startsWith(typed)).map((word) => ({ value: front + word, about: '' }));
  return { kind: all.length > 0 ? 'words' : (kind ?? 'words'), all };
}

function flags(command: Command, typed: string): Candidates {
  const visible = command.createHelp().visibleOptions(command);
  const all = visible
    .flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : []))
    .filter(({ value }) => value.startsWith(typed));
  return { kind: 'words', all };
}

function subcommands(command: Command, typed: string): Candidates {
  const all = command.commands
    .map((one) => ({ value: one.name(), about: one.description() }))
    .filter(({ value }) => value.startsWith(typed));
  return { kind: 'words', all };
}
