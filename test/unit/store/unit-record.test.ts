import { expect, it } from 'vitest';
import type { UnitOutcome, UnitRecord } from '../../../src/core/purchase/journal.js';
import { RawJson } from '../../../src/core/text/json.js';
import { unitHeads, unitLine } from '../../../src/store/file/unit-record.js';

const at = Date.parse('2026-11-20T10:00:00.123Z');
const odd = 'a "quote", a \\ backslash,\n,"result":  \u2028 ✓';

const success: UnitOutcome = {
  key: '0123456789abcdef0123456789abcdef',
  unit: odd,
  status: 'success',
  errorTag: null,
  httpStatus: null,
  source: null,
  costMicros: 1000,
  result: { text: odd },
};

const failure: UnitOutcome = {
  ...success,
  status: 'error',
  errorTag: odd,
  httpStatus: 404,
  source: odd,
  costMicros: 0,
  result: null,
  wholeStatus: { id: odd, more: [1] },
  misread: odd,
};

it.each([success, failure])('the line of a unit is one line of JSON with the whole outcome ($status)', (outcome) => {
  const line = unitLine(outcome, 'contents', odd, at);
  expect(line).not.toContain('\n');
  const { wholeStatus, misread } = outcome;
  expect(JSON.parse(line)).toStrictEqual({
    key: outcome.key,
    unit: outcome.unit,
    operation: 'contents',
    request_id: odd,
    fetched_at: '2026-11-20T10:00:00.123Z',
    cost_micros: outcome.costMicros,
    status: outcome.status,
    error_tag: outcome.errorTag,
    http_status: outcome.httpStatus,
    source: outcome.source,
    ...(misread === undefined ? {} : { misread }),
    ...(wholeStatus === undefined ? {} : { told: JSON.stringify(wholeStatus) }),
    result: outcome.result as UnitRecord['result'],
  });
});

it('the result is everything after the first mark, byte for byte', () => {
  const json = '{ "a":1.0,"a":2 }';
  const line = unitLine({ ...failure, result: new RawJson(json) }, 'contents', null, at);
  expect(line.slice(line.indexOf(',"result":'))).toBe(`,"result":${json}}`);
  expect(line.startsWith(unitHeads('contents', null, at)(failure))).toBe(true);
});
