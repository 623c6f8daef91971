import { resolve } from 'node:path';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { readEnvFile } from '../../worker/config/variables.js';

type Env = Record<string, string | undefined>;

/** The variable with the path of the file; the flag `--settings` sets it. */
const VARIABLE = 'SEARCHFLOW_SETTINGS';

/**
 * Adds the variables of the file of settings to `env`; a variable that is set there keeps its value, even an empty one. The file is the value
 * of `--settings`, else of SEARCHFLOW_SETTINGS. Without either no file is read, because a file of the working folder
 * could send the key to another address. Returns what is wrong, in a sentence that quotes no line of the file; null for nothing.
 */
export function loadSettingsFile(args: readonly string[], env: Env, cwd: string): string | null {
  const [flag = null, another] = flagsIn(args);
  if (another !== undefined) return '--settings names two files. Name one file.';
  if (flag?.trim() === '') return '--settings: the value is empty. Name a file, or leave the flag out.';
  const named = flag ?? env[VARIABLE];
  if (!named) return null;
  const name = flag === null ? VARIABLE : '--settings';
  const noPath = whyNoPath(named, process.platform);
  if (noPath !== null) return `${name}: the value (not shown) ${noPath}.`;
  const path = resolve(cwd, named);
  env[VARIABLE] = path;
  try {
    const { text, variables: found } = readEnvFile(path);
    const wrong = whyWrong(text, found);
    if (wrong !== null) return `${name}: ${path} ${wrong}`;
    for (const [variable, value] of Object.entries(found)) env[variable] ??= value;
    return null;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `${name}: ${path} cannot be read (${code ?? message}). Name another file, or write one:\n  searchflow init`;
  }
}

function flagsIn(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).flatMap((arg, index) => {
    if (arg === '--settings') return args[index + 1] ?? [];
    return arg.startsWith('--settings=') ? arg.slice('--settings='.length) : [];
  });
}

function whyWrong(text: string, found: Readonly<Record<string, string>>): string | null {
  const ofNode = Object.keys(found).find((name) => name.startsWith('NODE_'));
  if (ofNode !== undefined) return `sets ${ofNode}, which Node reads before the file. Set it in the environment.`;
  if (VARIABLE in found) return `sets ${VARIABLE}. A file of settings cannot name another one.`;
  // Node ignores a line that it cannot read. A value in quotes may have lines of its own.
  if (Object.values(found).some((value) => value.includes('\n'))) return null;
  const line = text.split(/\r?\n/).findIndex((one) => !/^\s*(#.*|(export\s+)?[\w.-]+\s*=.*)?$/.test(one));
  return line === -1 ? null : `has no NAME=value in line ${line + 1}.`;
}
