import { describe, expect, it } from 'vitest';
import { codeOfPause, pauseOf, sentenceOf } from '../../../src/core/rows/pause.js';

const dollar = 1_000_000;
const failure = (type: string, details: unknown = null) => ({ type, message: 'POST /contents: no', details });
const over = (scope: string, more: object = {}) =>
  failure('BudgetExceeded', {
    ...{ scope, capMicros: 5 * dollar, remainingMicros: dollar, resetsAt: Date.UTC(2026, 10, 23), ...more },
  });
const pauseText = (...args: Parameters<typeof pauseOf>) => {
  const pause = pauseOf(...args);
  return pause && [pause.reason, sentenceOf(pause)];
};

describe('a failure that needs a person', () => {
  it.each([
    ['Unauthorized', null, 'key', 'Set a valid key in SEARCHFLOW_API_KEY'],
    ['ApiKeyMissing', null, 'key', 'Set SEARCHFLOW_API_KEY'],
    ['PaymentRequired', null, 'credits', "Check the team's credits and the key's budget"],
    ['PaymentRequired', { tag: 'NO_MORE_CREDITS' }, 'credits', 'Buy more credits'],
    ['PaymentRequired', { tag: 'API_KEY_BUDGET_EXCEEDED' }, 'credits', 'Raise it there or use another key'],
    ['PaymentRequired', { tag: 'TEAM_BUDGET_EXCEEDED' }, 'credits', 'Raise it there'],
    ['RateLimited', null, 'rate', 'Wait that long'],
    // Failures of another version may lack their facts.
    ['BudgetExceeded', null, 'budget', 'a budget is used up. Raise it'],
    ['BudgetExceeded', { scope: 'job' }, 'budget', 'a budget is used up. Raise it'],
    ['AllRefused', null, 'request', 'correct the request'],
    ['ServiceUnrecognized', null, 'service', 'Check the network and SEARCHFLOW_BASE_URL'],
  ])('%s (%j) pauses for %s, shows the remedy and what comes next', (type, details, reason, way) => {
    for (const [job, next] of [
      ['brands', '. To resume it: searchflow resume brands'],
      [null, '. The next run continues'],
    ] as const) {
      const [why, message = ''] = pauseText(failure(type, details), job, null) ?? [];
      expect(why).toBe(reason);
      expect(message).toMatch(/^POST \/contents: no: /);
      expect(message.endsWith(`${way}${next}`)).toBe(true);
    }
  });

  it('a request that is refused for every row names the rows, and the commands to correct it and to go on', () => {
    const refused = failure('AllRefused', { requests: 8, rows: 100_000 });
    const why =
      'POST /contents: no. The service refused 8 requests and accepted none of this run; the job has 100,000 rows.';
    expect(pauseText(refused, 'brands', null)).toEqual([
      'request',
      `${why} Correct the request and run the job's command again. To record such rows as failed and continue: searchflow resume brands --skip-refused`,
    ]);
    expect(pauseText(refused, null, null)).toEqual([
      'request',
      `${why} Correct the request or these rows; the next run continues. To record such rows as failed, create the schedule again with --skip-refused`,
    ]);
  });

  it.each(['InvalidRequest', 'WarehouseUnusable', 'BadInput', 'toString'])('%s causes no pause', (type) => {
    expect(pauseOf(failure(type), 'brands', null)).toBeNull();
  });
});

describe('a budget that is used up', () => {
  const counted = (dollars: number) =>
    ({ countedMicros: dollars * dollar, heldMicros: 0, heldFor: 'requests' }) as const;
  const spent = "of this run's budget of $5.00 is spent, and the rest is not enough for another request";
  it('of a job names its spending, its limit, and the amount that is needed to continue', () => {
    expect(pauseText(over('job'), 'brands', null)).toEqual([
      'budget',
      `$4.00 ${spent}. To raise the budget and resume: searchflow resume brands --max-cost 10`,
    ]);
    // The text has the larger amount of the run, not the cap of the job, and the cost of the run, not the reserved money.
    expect(
      pauseText(over('job', { capMicros: 9 * dollar, multiple: 1.5 }), 'brands', 5 * dollar, counted(6.5)),
    ).toEqual([
      'budget',
      `$6.50 ${spent} (the service charges up to 1.5 times the price of the price table). ` +
        'To raise the budget and resume: searchflow resume brands --max-cost 13',
    ]);
    expect(pauseText(over('job', { multiple: 1.05 }), null, null)).toEqual([
      'budget',
      `$4.00 ${spent}. The next run continues with the same budget`,
    ]);
  });

  it('names the part that is held for runs or requests that have not ended', () => {
    const held = { countedMicros: 5 * dollar, heldMicros: 1.25 * dollar };
    const rest = 'and the rest is not enough for another request';
    expect(pauseText(over('job'), 'brands', null, { ...held, heldFor: 'runs' })).toEqual([
      'budget',
      `$3.75 of this run's budget of $5.00 is spent, $1.25 is held for runs that are still running at the service, ${rest}. ` +
        'To raise the budget and resume: searchflow resume brands --max-cost 10',
    ]);
    expect(pauseOf(over('worker'), 'brands', null, { ...held, heldFor: 'requests' })?.message).toContain(
      `$3.75 of the worker's budget of $5.00 for a run of a job is spent, $1.25 is held for requests in flight, ${rest}`,
    );
  });

  it('of the worker names its setting', () => {
    const text =
      "of the worker's budget of $5.00 for a run of a job is spent, and the rest is not enough for another request. Raise maxCostPerJob (SEARCHFLOW_MAX_COST_PER_JOB)";
    expect(pauseText(over('worker'), 'brands', dollar)).toEqual([
      'budget',
      `$4.00 ${text}, restart the worker and run: searchflow resume brands`,
    ]);
    expect(pauseText(over('worker'), null, null, counted(2))).toEqual([
      'budget',
      `$2.00 ${text}; the next scheduled run starts with a new budget of the same size`,
    ]);
  });

  it.each([
    ['job', 'budget-reached'],
    ['worker', 'worker-budget-reached'],
    ['day', 'team-budget-reached'],
    ['month', 'team-budget-reached'],
  ])('of the %s has the code %s', (scope, code) => {
    const { reason: pausedFor = null, cap } = pauseOf(over(scope), 'brands', null) ?? {};
    expect(codeOfPause({ pausedFor, cap })).toBe(code);
    expect(codeOfPause({ pausedFor })).toBe('budget-reached');
  });

  it.each(['day', 'month'])('of the team names its %s, and its end', (scope) => {
    const text = `$4.00 of the team's budget of $5.00 a ${scope} is spent or in flight; the ${scope} ends at 2026-11-23T00:00:00Z.`;
    const raise = `searchflow limits set --per-${scope}`;
    expect(pauseText(over(scope), 'brands', null)).toEqual([
      'budget',
      `${text} Wait until then, or raise --per-${scope} of the team's limits; then run: searchflow resume brands`,
    ]);
    expect(pauseText(over(scope), null, null)).toEqual([
      'budget',
      `${text} The first run after that continues, or an earlier one after the budget is raised (${raise})`,
    ]);
  });
});
