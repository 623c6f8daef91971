import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ALERT_TEST, alertEvents, alertTypes, usualAlerts } from '../../../src/core/alerts/alert.js';
import { knownVariables } from '../../../src/worker/config/settings.js';

const text = (path: string) => readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
const page = text('docs/tasks/alerts.md');
const schema = JSON.parse(text('docs/reference/alerts.schema.json'));

it('docs/tasks/alerts.md lists every event, and whether it is reported by default', () => {
  const rows = [...page.matchAll(/^\| `([a-z]+\.\w+)` \| (yes|no) \|/gm)].map(([, type, usual]) => [type, usual]);
  expect(rows).toEqual(alertTypes.map((type) => [type, usualAlerts.includes(type) ? 'yes' : 'no']));
  expect(Object.values(alertEvents).every((meaning) => meaning.length > 0)).toBe(true);
});

it('docs/reference/alerts.schema.json has a schema for the data of every event', () => {
  const types = [...alertTypes, ALERT_TEST];
  expect(Object.keys(schema.$defs)).toEqual(types);
  expect(schema.oneOf.map(({ properties }: never) => (properties as { type: { const: string } }).type.const)).toEqual(
    types,
  );
});

const all = (source: string, pattern: RegExp) => [...new Set(source.match(pattern))].sort();

it('docs/reference/configuration.md names every variable, and no other', () => {
  expect(all(text('docs/reference/configuration.md'), /SEARCHFLOW_[A-Z_]+/g)).toEqual([...knownVariables].sort());
});

it('docs/reference/metrics.md names every metric, and no other', () => {
  const code = ['metrics.ts'].map((file) => text(`src/worker/host/${file}`)).join('');
  const made = code.matchAll(/(createCounter|gaugeOf|secondsOf)\((?:\s*meter,)?\s*'(searchflow_\w+)'/g);
  const names = [...made].map(([, kind, name]) => (kind === 'createCounter' ? `${name}_total` : `${name}`));
  expect(names.length).toBeGreaterThan(10);
  expect(all(text('docs/reference/metrics.md'), /searchflow_(?!store|runs|migrations)[a-z_]+/g)).toEqual(
    [...new Set(names)].sort(),
  );
});

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
