import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { knownVariables } from '../../../src/worker/config/settings.js';

/** Variables that this program sets for programs that it starts. */
const given = /^SEARCHFLOW_ALERT_(ID|TEXT|TYPE|JOB)$/;

it('each variable that a text of the sources names exists', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const unknown = files.flatMap((file) => {
    const names = readFileSync(join('src', file), 'utf8').match(/\bSEARCHFLOW_[A-Z_]*[A-Z]\b/g) ?? [];
    const isKnown = (name: string) => (knownVariables as readonly string[]).includes(name) || given.test(name);
    return [...new Set(names)].filter((name) => !isKnown(name)).map((name) => `${file}: ${name}`);
  });
  expect(files.length).toBeGreaterThan(100);
  expect(unknown).toEqual([]);
});
