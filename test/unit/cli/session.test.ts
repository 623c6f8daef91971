import { expect, it } from 'vitest';
import { answered } from '../../../src/cli/shared/session.js';

const never = <T>() => new Promise<T>(() => undefined);

it('a question to a server that can neither be reached nor started ends without an answer, as one to a silent worker does', async () => {
  const ask = async () => 'answer';
  expect(await answered(() => never<string>(), ask, 5)).toBeNull();
  expect(
    await answered(
      async () => 'handle',
      () => never<string>(),
      5,
    ),
  ).toBeNull();
  expect(await answered(async () => 'handle', ask)).toBe('answer');
});
