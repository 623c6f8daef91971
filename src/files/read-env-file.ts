import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** A file of variables, such as `.env`. */
export interface EnvFile {
  readonly text: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Reads a file of lines `NAME=value`. Node ignores a line that it cannot read. */
export function readEnvFile(path: string): EnvFile {
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  return { text, variables: parseEnv(text) as Record<string, string> };
}
