import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { benchmarksDoc, savedResults } from '../../../scripts/benchmarks-doc.mjs';

it('docs/why/benchmarks.md equals the saved results (else: node scripts/make-benchmarks-doc.mjs)', () => {
  const page = readFileSync(new URL('../../../docs/why/benchmarks.md', import.meta.url), 'utf8');
  expect(page).toBe(benchmarksDoc(savedResults()));
});
