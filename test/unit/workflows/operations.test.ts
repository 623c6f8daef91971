import { expect, it } from 'vitest';
import { operations } from '../../../src/workflows/operations.js';

it('the operations of workflow code can be the result of an async function', async () => {
  const calls = operations();
  expect(await (async () => calls)()).toBe(calls);
  expect(calls.search).toBeTypeOf('function');
});
