import { expect, it } from 'vitest';
import { operations } from '../../../src/workflows/operations.js';

it('the operations of workflow code can be the result of an async function', async () => {
  const calls = operations();
  expect(await (async () => calls)()).toBe(calls);
  expect(calls.search).toBeTypeOf('function');
  expect('serach' in calls).toBe(false);
});

it('a misspelt option is refused, and an option of Temporal is not', () => {
  expect(() => operations({ maxRebys: 0 } as never)).toThrow('did you mean maxRebuys');
  expect(() => operations({ maxCostDolars: 1 } as never)).toThrow('did you mean maxCostDollars');
  expect(() => operations({ concurrency: 0 })).toThrow('whole number from 1');
  const own = {
    taskQueue: 'q',
    retry: { maximumAttempts: 1 },
    startToCloseTimeout: '1m',
    priority: { priorityKey: 1 },
  };
  expect(operations({ ...own, scheduleToStartTimeout: '1m', activityId: 'a' } as never).search).toBeTypeOf('function');
});
