import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(new URL('docs/why/faults.md', root), 'utf8');
const files = readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' }).map(
  (name) => `/${name.replaceAll('\\', '/')}`,
);
const lines = page.split('\n').filter((line) => /^\| (\d+|[A-Z]) \|/.test(line));
const proofs = [...page.matchAll(/`([\w./-]+\.ts)`: “([^”]+)”/g)].map(
  ([, file = '', name = '']) => [file, name] as const,
);

/** Test files of any tier whose path ends with this name. */
const filesNamed = (file: string) => files.filter((name) => name.endsWith(`/${file}`));

describe('docs/why/faults.md', () => {
  it('has a line for each fault from 1 to 70 and each invariant, with its proof or a note that there is none', () => {
    const names = lines.map((line) => /^\| (\w+)/.exec(line)?.[1]);
    expect(names).toEqual([...'NDBRMSLO', ...Array.from({ length: 70 }, (_, index) => String(index + 1))]);
    expect(lines.filter((line) => !/`: “|\*No test\*/.test(line))).toEqual([]);
  });

  it.each(proofs)('names an existing test: %s, “%s”', (file, name) => {
    const texts = filesNamed(file).map((path) => readFileSync(new URL(`test${path}`, root), 'utf8'));
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.some((text) => text.includes(name))).toBe(true);
  });
});
