import { expect, it } from 'vitest';
import { answered } from '../../../src/cli/shared/session.js';

it('a question that gets no answer in time, or fails, ends without an answer', async () => {
  expect(await answered(new Promise<string>(() => undefined), 5)).toBeNull();
  expect(await answered(Promise.reject(new Error('no server')))).toBeNull();
  expect(await answered(Promise.resolve('answer'))).toBe('answer');
});
