import { describe, expect, it } from 'vitest';
import { type CallFacts, classify } from '../../../src/core/failure.js';

const answered = (status: number, tag: string | null = null): CallFacts => ({
  phase: 'answer',
  status,
  tag,
  retryAfterMs: null,
});

describe('what a failed call means', () => {
  it.each([
    [301, null, 'NotFound', false, 'never', false],
    [400, null, 'InvalidRequest', false, 'never', false],
    [401, 'INVALID_API_KEY', 'Unauthorized', false, 'never', false],
    [402, 'NO_MORE_CREDITS', 'PaymentRequired', false, 'never', false],
    [402, 'API_KEY_BUDGET_EXCEEDED', 'PaymentRequired', false, 'never', false],
    [402, 'X402_PAYMENT_REQUIRED', 'ApiKeyMissing', false, 'never', false],
    [403, 'FEATURE_DISABLED', 'Unauthorized', false, 'never', false],
    [404, 'NOT_FOUND', 'NotFound', false, 'never', false],
    [409, null, 'InvalidRequest', false, 'never', false],
    [422, 'FETCH_DOCUMENT_ERROR', 'InvalidRequest', false, 'never', false],
    [429, 'RATE_LIMIT_EXCEEDED', 'RateLimited', true, 'never', true],
    [429, 'CONCURRENCY_LIMIT_REACHED', 'RateLimited', true, 'never', false],
    [500, 'INTERNAL_ERROR', 'ServiceUnavailable', true, 'maybe', false],
    [501, 'UNABLE_TO_GENERATE_RESPONSE', 'InvalidRequest', false, 'never', false],
    [502, null, 'ServiceUnavailable', true, 'maybe', false],
    [503, 'SERVICE_OVERLOADED', 'ServiceUnavailable', true, 'never', false],
    [504, null, 'ServiceUnavailable', true, 'maybe', false],
    [599, 'NEVER_SEEN', 'ServiceUnavailable', true, 'maybe', false],
    [418, 'NEVER_SEEN', 'InvalidRequest', false, 'never', false],
  ])('%i %s is %s', (status, tag, type, retry, charged, blocks) => {
    expect(classify(answered(status, tag))).toEqual({ type, retry, charged, blocks });
  });

  it('tells a full house on create from a busy one on get', () => {
    expect(classify(answered(429, 'CONCURRENCY_LIMIT_REACHED'), true).type).toBe('ConcurrencyLimited');
  });

  it('never counts a call as charged that did not reach the service', () => {
    expect(classify({ phase: 'refused', status: null, tag: null, retryAfterMs: null })).toMatchObject({
      retry: false,
      charged: 'never',
    });
    expect(classify({ phase: 'connect', status: null, tag: null, retryAfterMs: null })).toMatchObject({
      retry: true,
      charged: 'never',
    });
  });

  it('counts a call without a whole answer as perhaps charged', () => {
    expect(classify({ phase: 'sent', status: null, tag: null, retryAfterMs: null })).toMatchObject({
      retry: true,
      charged: 'maybe',
    });
    expect(classify({ ...answered(200), truncated: true })).toMatchObject({
      type: 'ServiceUnavailable',
      charged: 'maybe',
    });
    expect(classify({ ...answered(200), wrongShape: true })).toMatchObject({ type: 'ResponseShape', retry: false });
  });
});
