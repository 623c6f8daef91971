import { describe, expect, it } from 'vitest';
import { type CallFacts, classify } from '../../../src/core/purchase/failure.js';
import { transientTags } from '../../../src/core/purchase/failure-tags.js';
import { freshnessOf } from '../../../src/core/purchase/freshness.js';

const answered = (status: number, tag: string | null = null): CallFacts => ({
  phase: 'answer',
  status,
  tag,
  retryAfterMs: null,
});

describe('the meaning of a failed call', () => {
  it.each([
    [204, null, 'InvalidRequest', false, 'never', false],
    [300, null, 'NotFound', false, 'never', false],
    [301, null, 'NotFound', false, 'never', false],
    [400, null, 'InvalidRequest', false, 'never', false],
    [401, 'INVALID_API_KEY', 'Unauthorized', false, 'never', false],
    [402, 'NO_MORE_CREDITS', 'PaymentRequired', false, 'never', false],
    [402, 'API_KEY_BUDGET_EXCEEDED', 'PaymentRequired', false, 'never', false],
    [402, 'X402_PAYMENT_REQUIRED', 'ApiKeyMissing', false, 'never', false],
    [403, 'FEATURE_DISABLED', 'Unauthorized', false, 'never', false],
    [404, 'NOT_FOUND', 'NotFound', false, 'never', false],
    [408, null, 'ServiceUnavailable', true, 'maybe', false],
    [409, null, 'InvalidRequest', false, 'never', false],
    [410, null, 'NotFound', false, 'never', false],
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

  it('distinguishes a full service at a create from a busy one at a get', () => {
    expect(classify(answered(429, 'CONCURRENCY_LIMIT_REACHED'), true).type).toBe('ConcurrencyLimited');
  });

  it('never counts a call as charged that did not reach the service', () => {
    const unsent = { status: null, tag: null, retryAfterMs: null };
    expect(classify({ phase: 'refused', ...unsent })).toMatchObject({
      type: 'InvalidRequest',
      retry: false,
      charged: 'never',
    });
    expect(classify({ phase: 'connect', ...unsent })).toMatchObject({
      type: 'ServiceUnavailable',
      retry: true,
      charged: 'never',
    });
  });

  it('counts a call without a whole answer as perhaps charged', () => {
    const lost = { type: 'ServiceUnavailable', retry: true, charged: 'maybe' };
    expect(classify({ phase: 'sent', status: null, tag: null, retryAfterMs: null })).toMatchObject(lost);
    expect(classify({ ...answered(200), truncated: true })).toMatchObject(lost);
    expect(classify({ ...answered(200), unrecognized: true })).toMatchObject(lost);
  });

  it('never requests a complete but unreadable answer again, and counts it as charged', () => {
    const unread = { type: 'ResponseShape', retry: false, charged: 'maybe' };
    expect(classify({ ...answered(200), wrongShape: true })).toMatchObject(unread);
  });
});

describe('a failed row is retried with --retry-failed', () => {
  it.each([
    ['its page was slow', ['CRAWL_TIMEOUT', 'CRAWL_LIVECRAWL_TIMEOUT', 'CRAWL_HTTP_504']],
    ['its server was busy or broken', ['CRAWL_HTTP_429', 'CRAWL_HTTP_500', 'CRAWL_HTTP_502', 'CRAWL_HTTP_503']],
    ['the failure is unknown', ['CRAWL_UNKNOWN_ERROR', 'MISSING_FROM_RESPONSE', 'UNKNOWN_OUTCOME', 'DEFAULT_ERROR']],
    ['its run ended without a result', ['RUN_FAILED', 'RUN_CANCELLED', 'RUN_GONE']],
    ['the request was refused', ['INVALID_REQUEST', 'INVALID_REQUEST_BODY', 'INVALID_URLS']],
    ['the previous run was not ready', ['PREVIOUS_RUN_NOT_FOUND', 'PREVIOUS_RUN_NOT_COMPLETED']],
  ])('if %s', (_why, tags) => {
    expect(tags.filter((tag) => !transientTags.includes(tag))).toEqual([]);
  });

  it.each([
    ['the page does not exist', ['CRAWL_NOT_FOUND', 'CRAWL_HTTP_404', 'CRAWL_HTTP_410']],
    ['the page is closed to the service', ['CRAWL_HTTP_401', 'CRAWL_HTTP_403', 'SOURCE_NOT_AVAILABLE']],
    ['a paid answer is unreadable', ['RESPONSE_SHAPE']],
  ])('never if %s', (_why, tags) => {
    expect(tags.filter((tag) => transientTags.includes(tag))).toEqual([]);
  });
});

describe('the freshness of answers', () => {
  const asked = { retryFailed: false, rebuy: false };

  it('has no rule if nothing was asked for, and each rule counts from now', () => {
    expect(freshnessOf(asked, 5000)).toBeUndefined();
    expect(freshnessOf({ ...asked, refreshAfterMs: 2000 }, 5000)).toEqual({ freshAfter: 3000 });
    expect(freshnessOf({ ...asked, refreshAfterMs: 0, rebuy: true }, 5000)).toEqual({
      ...{ freshAfter: 5000, rebuyBefore: 5000 },
    });
  });

  it('retries transient failures, and answers that were paid for and could not be parsed', () => {
    const { retryTags, ...rules } = freshnessOf({ ...asked, retryFailed: true }, 5000) ?? {};
    expect(rules).toEqual({ retryBefore: 5000 });
    expect(retryTags).toEqual([...transientTags, 'RESPONSE_SHAPE']);
    expect(retryTags).toEqual(expect.arrayContaining(['RUN_OVERDUE', 'UNKNOWN_OUTCOME']));
    expect(retryTags).not.toContain('CRAWL_NOT_FOUND');
  });
});
