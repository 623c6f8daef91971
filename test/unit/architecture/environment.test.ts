import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

it('environment, exit and console belong to the command and the worker', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const offenders = files.filter(
    (file) =>
      !/^(cli|worker)[\\/]/.test(file) &&
      /\bprocess\.(env|exit|exitCode)\b|\bconsole\./.test(readFileSync(src + file, 'utf8')),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(offenders).toEqual([]);
});
