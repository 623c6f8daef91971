import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** A fenced block of a page. `notRun`: why a test does not run it; null for a block that is run. */
export interface Block {
  readonly language: string;
  readonly code: string;
  readonly notRun: string | null;
}

/** Pages of these rooms have code that a reader copies. */
export const pages = ['start', 'tasks', 'concepts'].flatMap((room) =>
  readdirSync(join(docs, room))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${room}/${name}`),
);

/** The blocks of a page. A block `sh not-run: <reason>` is not run. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(docs, page), 'utf8');
  return [...text.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map(([, language = '', meta = '', code = '']) => ({
    language,
    code,
    notRun: /^ not-run: (.+)$/.exec(meta)?.[1] ?? null,
  }));
}
