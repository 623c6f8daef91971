import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ALERT_TEST, alertEvents, alertTypes, usualAlerts } from '../../../src/core/alerts/alert.js';

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
