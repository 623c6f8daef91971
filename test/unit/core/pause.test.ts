import { describe, expect, it } from 'vitest';
import { pauseOf } from '../../../src/core/rows/pause.js';

const dollar = 1_000_000;
const failure = (type: string, details: unknown = null) => ({ type, message: 'POST /contents: no', details });
const over = (scope: string, more: object = {}) =>
  failure('BudgetExceeded', {
    ...{ scope, capMicros: 5 * dollar, remainingMicros: dollar, resetsAt: Date.UTC(2026, 10, 23), ...more },
  });
const told = (...args: Parameters<typeof pauseOf>) => {
  const pause = pauseOf(...args);
  return pause && [pause.reason, pause.message];
};

describe('a failure that a person mends', () => {
  it.each([
    ['Unauthorized', null, 'key', 'set one that it takes in SEARCHFLOW_API_KEY'],
    ['ApiKeyMissing', null, 'key', 'set SEARCHFLOW_API_KEY'],
    ['PaymentRequired', null, 'credits', "look at the team's credits and the budget of the key"],
    ['PaymentRequired', { tag: 'NO_MORE_CREDITS' }, 'credits', 'buy more'],
    ['PaymentRequired', { tag: 'API_KEY_BUDGET_EXCEEDED' }, 'credits', 'raise it there, or use another key'],
    ['PaymentRequired', { tag: 'TEAM_BUDGET_EXCEEDED' }, 'credits', 'raise it there'],
    ['RateLimited', null, 'rate', 'wait so long'],
    ['ServiceUnrecognized', null, 'service', 'check the network and SEARCHFLOW_BASE_URL'],
  ])(
    '%s (%j) pauses for %s, with the way out for a job, and for the next run of a schedule',
    (type, details, reason, way) => {
      for (const [job, goOn] of [
        ['brands', 'go on: searchflow resume brands'],
        [null, 'the next run goes on'],
      ] as const) {
        const [why, message = ''] = told(failure(type, details), job, null) ?? [];
        expect(why).toBe(reason);
        expect(message).toMatch(/^POST \/contents: no: /);
        expect(message.endsWith(`${way}, and ${goOn}`)).toBe(true);
      }
    },
  );

  it.each(['InvalidRequest', 'SinkUnusable', 'BadInput', 'toString'])('%s pauses for nothing', (type) => {
    expect(pauseOf(failure(type), 'brands', null)).toBeNull();
  });
});

describe('a budget that is used up', () => {
  const spent = 'is spent of the $5.00 that this run may cost, and what is left pays for no further request';
  it('of a job names what is spent, of how much, and the amount that goes on', () => {
    expect(told(over('job'), 'brands', null)).toEqual([
      'budget',
      `$4.00 ${spent}; raise it and go on: searchflow resume brands --max-cost 10`,
    ]);
    // What the run may cost is told rather than what the job may, and what it has cost rather than what was taken.
    expect(told(over('job', { capMicros: 9 * dollar, multiple: 1.5 }), 'brands', 5 * dollar, 6.5 * dollar)).toEqual([
      'budget',
      `$6.50 ${spent} (the service charges up to 1.5 times what the price table says); ` +
        'raise it and go on: searchflow resume brands --max-cost 13',
    ]);
    expect(told(over('job', { multiple: 1.05 }), null, null)).toEqual([
      'budget',
      `$4.00 ${spent}; the next run goes on with as much`,
    ]);
  });

  it('of the worker names its setting', () => {
    const text =
      'is spent of the $5.00 that the worker allows a run of a job, and the rest pays for no further request; raise maxCostPerJob (SEARCHFLOW_MAX_COST_PER_JOB)';
    expect(told(over('worker'), 'brands', dollar)).toEqual([
      'budget',
      `$4.00 ${text} and: restart the worker: searchflow resume brands`,
    ]);
    expect(told(over('worker'), null, null, 2 * dollar)).toEqual([
      'budget',
      `$2.00 ${text} or wait: the next run may cost as much again`,
    ]);
  });

  it.each(['day', 'month'])('of the team names its %s, and when that ends', (scope) => {
    const text = `$4.00 of the $5.00 that the team may spend a ${scope} is spent or in flight; the ${scope} ends at 2026-11-23T00:00:00Z.`;
    const raise = `searchflow limits set --per-${scope}`;
    expect(told(over(scope), 'brands', null)).toEqual([
      'budget',
      `${text} Go on then, or once it is raised (${raise}): searchflow resume brands`,
    ]);
    expect(told(over(scope), null, null)).toEqual([
      'budget',
      `${text} The first run after that goes on, or one after it is raised (${raise})`,
    ]);
  });
});
