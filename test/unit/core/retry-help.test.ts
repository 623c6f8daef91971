import { describe, expect, it } from 'vitest';
import { retriedTags } from '../../../src/core/purchase/freshness.js';
import { retryHelp } from '../../../src/core/purchase/retry-help.js';

const error = { status: 'error' } as const;
const helpOf = (tag: string | null, facts: object = {}) => retryHelp({ ...error, tag, ...facts }).retry;

describe('whether a retry can help', () => {
  it('is no for a bad row, and for an answer of the service that --retry-failed does not buy again', () => {
    expect(retryHelp({ status: 'invalid', tag: 'CRAWL_TIMEOUT' })).toMatchObject({
      retry: 'none',
      why: expect.stringContaining('input'),
    });
    for (const tag of ['CRAWL_NOT_FOUND', 'SOURCE_NOT_AVAILABLE', 'A_NEW_TAG', null]) expect(helpOf(tag)).toBe('none');
  });

  it('is yes for each tag that --retry-failed buys again, as free or as charged', () => {
    for (const tag of retriedTags) expect(helpOf(tag)).not.toBe('none');
    for (const tag of ['CRAWL_TIMEOUT', 'CRAWL_HTTP_503', 'INVALID_REQUEST', 'RUN_OVERDUE'])
      expect(helpOf(tag)).toBe('free');
    for (const tag of ['UNKNOWN_OUTCOME', 'RESPONSE_SHAPE', 'RUN_FAILED', 'RUN_GONE'])
      expect(helpOf(tag)).toBe('charged');
  });

  it('may be charged if the failed requests were or may have been charged, but not for a run that is followed again', () => {
    expect(helpOf('CRAWL_TIMEOUT', { paidMicros: 1 })).toBe('charged');
    expect(helpOf('RUN_OVERDUE', { paidMicros: 1 })).toBe('free');
    expect(helpOf('CRAWL_NOT_FOUND', { paidMicros: 1 })).toBe('none');
  });

  it('is no for a row that the answer of its shared run lacks, because the run has landed', () => {
    expect(helpOf('MISSING_FROM_RESPONSE')).toBe('free');
    expect(helpOf('MISSING_FROM_RESPONSE', { rowsPerRun: 5 })).toBe('none');
  });
});

it('a forgotten row cannot be retried, because its data was removed', () => {
  expect(retryHelp({ status: 'error', tag: 'FORGOTTEN' })).toEqual({
    retry: 'none',
    why: 'its data was removed by forget',
  });
});
