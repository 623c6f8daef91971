import { expect, it } from 'vitest';
import { pauseOfRun } from '../../../src/core/alerts/job-alerts.js';

it('the alert of a paused job ends with its command, without a dot', () => {
  const run = { job: 'a-1', kind: 'rows', run: 'r', origin: 'sandbox', scheduled: false } as const;
  const message = 'the budget of $0.02 is used up';
  const next = { text: 'To raise the budget and resume', command: 'resume a-1 --max-cost 0.03' };
  const budget = pauseOfRun(run, { reason: 'budget', cap: 'job', message, next }, 0).text;
  expect(budget).toBe(
    `Job a-1 is paused: ${message}. To raise the budget and resume: searchflow resume a-1 --max-cost 0.03`,
  );
  expect(pauseOfRun(run, { reason: 'key', message: 'x' }, 0).text).toMatch(/\. Fix this, then: searchflow resume a-1$/);
});
