import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { knownVariables } from '../../../src/worker/config/settings.js';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
const all = (source: string, pattern: RegExp) => [...new Set(source.match(pattern))].sort();

it('docs/reference/configuration.md names every variable, and no other', () => {
  expect(all(text('docs/reference/configuration.md'), /SEARCHFLOW_[A-Z_]+/g)).toEqual([...knownVariables].sort());
});

it('docs/reference/metrics.md names every metric, and no other', () => {
  const code = ['metrics.ts', 'state-metrics.ts'].map((file) => text(`src/worker/host/${file}`)).join('');
  const made = code.matchAll(/(createCounter|gaugeOf|secondsOf)\((?:\s*meter,)?\s*'(searchflow_\w+)'/g);
  const names = [...made].map(([, kind, name]) => (kind === 'createCounter' ? `${name}_total` : `${name}`));
  expect(names.length).toBeGreaterThan(10);
  expect(all(text('docs/reference/metrics.md'), /searchflow_(?!store|runs|migrations)[a-z_]+/g)).toEqual(
    [...new Set(names)].sort(),
  );
});
