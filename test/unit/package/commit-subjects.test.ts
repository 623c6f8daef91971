import { expect, it } from 'vitest';
import { whyRefused } from '../../../scripts/check-commits.mjs';

it.each(['status: report a killed job as stopped', 'cli: pass the key', 'store: process lines in order'])(
  'accepts the commit subject %j',
  (subject) => expect(whyRefused(subject)).toBeNull(),
);

it.each([
  `store: ${'a'.repeat(72)}`,
  'Added a thing',
  'store: added a thing',
  'store: adding a thing',
  'store: adds a thing',
  'store: now it is quick',
  'store: the thing is gone',
])('refuses the commit subject %j', (subject) => expect(whyRefused(subject)).toEqual(expect.any(String)));
