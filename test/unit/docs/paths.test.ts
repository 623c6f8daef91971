import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md') && !/\/(node_modules|\.vitepress|reference\/api)\//.test(name));
const documents = ['README.md', 'AGENTS.md', 'CHANGELOG.md', 'SECURITY.md', ...below('docs'), ...below('examples')];
const read = (document: string): string => readFileSync(join(root, document), 'utf8');
const exists = (path: string): boolean => existsSync(join(root, path));
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

describe('a document', () => {
  it.each(documents)('names only files of the sources and tests that exist: %s', (document) => {
    const paths = all(read(document), /(?<![\w./-])((?:src|test|scripts|bench)\/[\w./-]*\w)/g);
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });

  it.each(documents)('links only to files and headings that exist: %s', (document) => {
    const targets = all(read(document), /\]\(([^)\s]+)\)/g).filter((target) => !/^\w+:/.test(target));
    const broken = targets.filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      if (!exists(file)) return true;
      return (
        anchor !== undefined &&
        !all(read(file), /^#+ (.*)$/gm)
          .map(anchorOf)
          .includes(anchor)
      );
    });
    expect(broken).toEqual([]);
  });
});

it('docs/testing.md names only tests that exist', () => {
  const names = all(read('docs/testing.md'), /`((?:unit|contract|long|deep)\/[\w./-]*\w)`/g);
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name) => !exists(`test/${name}`) && !exists(`test/${name}.test.ts`))).toEqual([]);
});

it('docs/decisions have different numbers, each in the file name and the title', () => {
  const files = readdirSync(join(root, 'docs/decisions')).sort();
  expect(new Set(files.map((file) => file.slice(0, 4))).size).toBe(files.length);
  expect(files.filter((file) => !read(`docs/decisions/${file}`).startsWith(`# ${file.slice(0, 4)} `))).toEqual([]);
});
