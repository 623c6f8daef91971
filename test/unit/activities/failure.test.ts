import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { toFailure, waiting } from '../../../src/activities/call/failure.js';
import { ApiError, type ApiErrorParts } from '../../../src/api/wire/errors.js';
import { BodiesGone } from '../../../src/core/purchase/journal.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { WarehouseBusy, WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';

const hour = 3_600_000;
const api = (facts: Partial<ApiErrorParts['facts']>) =>
  new ApiError({
    endpoint: { name: 'contents', method: 'POST', path: '/contents', creates: true },
    requestId: 'r1',
    facts: { phase: 'answer', status: null, tag: null, retryAfterMs: null, bodyComplete: true, ...facts },
  } as unknown as ApiErrorParts);
const named = (name: string, more: object = {}) => Object.assign(new Error('what happened'), { name, ...more });
const factsOf = (error: unknown, attempt?: number) => {
  const failure = toFailure(error, attempt) as ApplicationFailure;
  const { type, message, nonRetryable, category, nextRetryDelay, details } = failure;
  return {
    type,
    message,
    nonRetryable,
    benign: category === ApplicationFailureCategory.BENIGN,
    nextRetryDelay,
    details,
  };
};

describe('a failure of the service', () => {
  it.each([
    [
      'a refused key',
      { status: 401 },
      { type: 'Unauthorized', nonRetryable: true, benign: false, nextRetryDelay: undefined },
    ],
    ['a bad request', { status: 400 }, { type: 'InvalidRequest', nonRetryable: true, benign: false }],
    [
      'a wait of ten seconds',
      { status: 429, retryAfterMs: 10_000 },
      { type: 'RateLimited', nonRetryable: false, benign: true, nextRetryDelay: 10_000 },
    ],
    [
      'a wait of an hour',
      { status: 429, retryAfterMs: hour },
      { nonRetryable: false, benign: true, nextRetryDelay: hour },
    ],
    [
      'a wait of more than an hour',
      { status: 429, retryAfterMs: hour + 1 },
      { nonRetryable: true, benign: false, nextRetryDelay: undefined },
    ],
    ['an error of the service', { status: 500 }, { nonRetryable: false, benign: false, nextRetryDelay: undefined }],
    [
      'an error with a wait',
      { status: 503, retryAfterMs: 7000 },
      { nonRetryable: false, benign: false, nextRetryDelay: 7000 },
    ],
  ])('%s is reported with its facts', (_, facts, expected) => {
    expect(factsOf(api(facts))).toMatchObject({
      ...expected,
      details: [{ status: facts.status, tag: null, requestId: 'r1' }],
    });
  });

  it('that does not come from the service needs a person after ten in a row', () => {
    const strange = api({ status: 502, unrecognized: true });
    expect(factsOf(strange, 9)).toMatchObject({ nonRetryable: false });
    expect(factsOf(strange, 10)).toMatchObject({ type: 'ServiceUnrecognized', nonRetryable: true });
  });
});

describe('a failure of ours', () => {
  it.each<[string, unknown, number, object]>([
    [
      'a warehouse in use',
      new WarehouseBusy('warehouse-in-use', 'in use', 7),
      99,
      { type: 'WarehouseBusy', nonRetryable: false, benign: true, nextRetryDelay: 2000, details: [{ pid: 7 }] },
    ],
    [
      'a warehouse that is damaged',
      new WarehouseUnusable('warehouse-damaged', 'damaged'),
      1,
      {
        type: 'WarehouseUnusable',
        message: 'damaged',
        nonRetryable: true,
        details: [{ errorCode: 'warehouse-damaged' }],
      },
    ],
    ['answers that were pruned', new BodiesGone(['k']), 1, { type: 'BodiesGone', nonRetryable: true }],
    [
      'a login that is refused',
      named('error', { code: '28P01' }),
      1,
      { type: 'StoreUnusable', nonRetryable: true, details: [{ errorCode: 'postgres-login-refused' }] },
    ],
    ['a missing database', named('error', { code: '3D000' }), 1, { type: 'StoreUnusable', nonRetryable: true }],
    ['a dropped table', named('error', { code: '42P01' }), 1, { type: 'StoreUnusable', nonRetryable: true }],
    ['a store that refuses the login', named('PostgresRefused'), 1, { type: 'StoreUnusable', nonRetryable: true }],
    [
      'a file that changed while it was read',
      named('CsvError', { isTransient: true }),
      2,
      { type: 'BadInput', message: 'what happened', nonRetryable: false },
    ],
    [
      'a file that changes again and again',
      named('CsvError', { isTransient: true }),
      3,
      { type: 'BadInput', nonRetryable: true },
    ],
    ['a file that is no table', named('CsvError'), 1, { type: 'BadInput', nonRetryable: true }],
    ['a wrong input', named('UsageError'), 1, { type: 'BadInput', nonRetryable: true }],
    [
      'an unknown error, too often',
      named('TypeError'),
      10,
      { type: 'TypeError', message: expect.stringContaining('(after 10 attempts'), nonRetryable: true },
    ],
    [
      'a budget',
      new OverBudget('day', 5, 2, 1, 77, { multiple: 1.5 }),
      1,
      {
        type: 'BudgetExceeded',
        nonRetryable: true,
        details: [{ scope: 'day', capMicros: 5, remainingMicros: 2, resetsAt: 77, multiple: 1.5 }],
      },
    ],
  ])('%s', (_, error, attempt, expected) => {
    expect(factsOf(error, attempt)).toMatchObject(expected);
  });

  it.each([
    ['an unknown error', named('TypeError'), 9],
    ['a database that is busy', named('error', { code: '40001' }), 1],
    ['an error that already has its type', ApplicationFailure.nonRetryable('no', 'Mine'), 99],
    ['a cancellation', new CancelledFailure('no'), 99],
  ])('%s is left unchanged', (_, error, attempt) => {
    expect(toFailure(error, attempt)).toBe(error);
  });

  it('a long wait is reported as benign', () => {
    expect(waiting(90_000.5, null)).toMatchObject({
      ...{ type: 'Waiting', message: 'waiting 91 s: rate limit', nextRetryDelay: 90_001, nonRetryable: false },
      category: ApplicationFailureCategory.BENIGN,
    });
    expect(waiting(1000, 'the service to recover').message).toBe('waiting 1 s: the service to recover');
  });
});
