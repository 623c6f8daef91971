import { expect, it } from 'vitest';
import { whyTooLarge } from '../../../src/core/check-value.js';

it.each([
  ['a'.repeat(262_142), null],
  ['a'.repeat(262_143), '257 KB'],
  ['ü'.repeat(131_071), null],
  ['ü'.repeat(131_072), '257 KB'],
  ['\u{1f600}'.repeat(70_000), '274 KB'],
  ['\ud83d'.repeat(40_000), null],
])('the limit of a request counts bytes', (text, said) => {
  const why = whyTooLarge(text);
  expect(why === null ? null : why.slice(4, 10)).toBe(said);
});
