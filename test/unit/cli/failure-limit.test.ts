import { expect, it } from 'vitest';
import { failureLimit } from '../../../src/cli/flag-values.js';
import { useFlags } from '../../support/cli/read-flags.js';

it('flags are a limit of failed answers', () => {
  const read = (flags: object) => useFlags('resume', flags, failureLimit).value;
  const [none, third] = [{ stopAtFailed: 'none' }, { stopAtFailed: '100%', stopAfter: '1' }];
  expect([{}, none, { stopAtFailed: '20%' }, { stopAtFailed: '0.5' }, third].map(read)).toEqual([
    ...[undefined, 'none', { percent: 20 }, { percent: 0.5 }, { percent: 100, after: 1 }],
  ]);
});

it.each([
  [{ stopAtFailed: '0%' }, "--stop-at-failed: '0%' must be a percentage above 0%, such as 20%, or none."],
  [{ stopAtFailed: 'many' }, "--stop-at-failed: 'many'"],
  [{ stopAtFailed: '20%', stopAfter: '0' }, "--stop-after: '0' must be a whole number from 1 to 999999999."],
  [{ stopAfter: '50' }, '--stop-after needs a percentage of failed answers.'],
  [{ stopAtFailed: 'none', stopAfter: '50' }, '--stop-after needs a percentage of failed answers.'],
])('%j is refused', (flags, mistake) => {
  expect(useFlags('resume', flags, failureLimit).mistakes).toEqual([expect.stringContaining(mistake)]);
});
