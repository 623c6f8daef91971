import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A fenced block of a page. `line`: that of its first line of code. `notRun`: why a test does not run it; null for a block that is run. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly code: string;
  readonly notRun: string | null;
}

/** Pages of the site with code that a reader copies. `reference/operations.md` has the examples that `unit/docs/operations` runs. */
export const pages = ['start', 'tasks', 'concepts', 'reference', 'why'].flatMap((room) =>
  readdirSync(`${root}docs/${room}`)
    .filter((name) => name.endsWith('.md') && !['commands.md', 'operations.md'].includes(name))
    .map((name) => `docs/${room}/${name}`),
);

/** The pages of the site and the other documents with such code. */
export const documents = [
  ...pages,
  ...['README.md', 'CONTRIBUTING.md', 'docs/errors.md', 'skills/searchflow/SKILL.md'],
  ...readdirSync(`${root}examples`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `examples/${name}/README.md`),
];

/** The blocks of a document. A block `sh not-run: <reason>` is not run. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(root + page, 'utf8');
  return [...text.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', meta = '', code = ''] = match;
    const line = text.slice(0, match.index).split('\n').length + 1;
    return { page, line, language, code, notRun: /^ not-run: (.+)$/.exec(meta)?.[1] ?? null };
  });
}
