import { describe, expect, it } from 'vitest';
import { readWarnings } from '../../../src/api/answer/read-answer.js';
import type { ServiceWarning } from '../../../src/core/row-job-schemas.js';
import { sentenceOf, warningPause } from '../../../src/core/rows/pause.js';
import { addWarnings, MOST_WARNINGS, notAccepted } from '../../../src/core/rows/warnings.js';

const plain = (text: string) => text.replaceAll('key-1', '[redacted]');
const ignored = { code: 'IGNORED_FIELD', path: '/startCrawlDate', message: 'startCrawlDate has no effect.' };
const warning: ServiceWarning = { kind: 'warning', ...ignored };

describe('the warnings of an answer', () => {
  it('are read once for each code and path, with the notices', () => {
    const answer = {
      warnings: [ignored, { ...ignored, message: 'again' }, { ...ignored, path: '/endCrawlDate' }],
      notices: [{ code: 'RESTRICTIONS_RELAXED', path: null, message: 'key-1', details: {} }],
    };
    expect(readWarnings(answer, plain)).toEqual([
      warning,
      { ...warning, path: '/endCrawlDate' },
      { kind: 'notice', code: 'RESTRICTIONS_RELAXED', path: '', message: '[redacted]' },
    ]);
  });

  it.each([
    [undefined],
    [null],
    [false],
    [0],
    [''],
    [' '],
    [{}],
    [[null, 7, [], {}, { code: '' }, '', { message: ' ' }]],
  ])('that say nothing are left out: %j', (warnings) => {
    expect(readWarnings({ warnings, notices: warnings }, plain)).toEqual([]);
  });

  it.each([
    ['IGNORED_FIELD', 'IGNORED_FIELD', 'IGNORED_FIELD'],
    [{ code: 'X' }, 'X', ''],
    [[{ code: 7, detail: 'seven' }], '7', 'seven'],
    [
      ['The field "startCrawlDate" is ignored.'],
      'The_field_startCrawlDate_is_ignored',
      'The field "startCrawlDate" is ignored.',
    ],
    [[{ message: 'ignored since 2026-04-01 (id a8f3)' }], 'ignored_since', 'ignored since 2026-04-01 (id a8f3)'],
    [[{ text: '--yes, ignored' }], 'yes_ignored', '--yes, ignored'],
    [{ startCrawlDate: 'has no effect' }, 'startCrawlDate:has_no_effect', '{"startCrawlDate":"has no effect"}'],
    [['フィールドは無視されます'], 'TEXT_', 'フィールドは無視されます'],
  ])('of another form have a code to accept them by: %j', (warnings, code, message) => {
    for (const kind of ['warning', 'notice'] as const) {
      const read = readWarnings({ [`${kind}s`]: warnings }, plain);
      expect(read).toEqual([{ kind, code: expect.stringMatching(new RegExp(`^${code}`)), path: '', message }]);
      expect(read[0]?.code).toMatch(/^\w[\w.:-]*$/);
    }
  });

  it('without a code are one warning if they differ in words with digits only', () => {
    const warnings = ['request 17 is slow', 'request 18 is slow', 'request 19 is fast'];
    expect(readWarnings({ warnings }, plain).map(({ code }) => code)).toEqual(['request_is_slow', 'request_is_fast']);
  });

  it('are bounded, and safe for a terminal, a command and a database', () => {
    const many = Array.from({ length: 5000 }, (_, nth) => ({ ...ignored, path: `/${nth}` }));
    expect(readWarnings({ warnings: many }, plain)).toHaveLength(MOST_WARNINGS);
    const odd = { code: 'a b\0$(x)'.repeat(99), path: '\ud83d\0', message: `\u001b[31m${'long '.repeat(1e5)}` };
    const [read] = readWarnings({ warnings: [odd] }, plain);
    expect(read?.code).toMatch(/^[\w.:-]{64}$/);
    expect(read?.path).toBe('\ufffd');
    expect(read?.message).toHaveLength(300);
    expect(read?.message).not.toMatch(/\p{Cc}/u);
  });

  it('stop a job unless their code is accepted; notices never do', () => {
    const all = addWarnings([warning], [{ ...warning, kind: 'notice' }, { ...warning, code: 'OTHER' }, warning]);
    expect(all).toHaveLength(3);
    expect(notAccepted(all).map(({ code }) => code)).toEqual(['IGNORED_FIELD', 'OTHER']);
    expect(notAccepted(all, ['IGNORED_FIELD']).map(({ code }) => code)).toEqual(['OTHER']);
  });

  it('make a pause whose message ends with the command that accepts them', () => {
    const { reason, message, next } = warningPause([warning, { ...warning, path: '/endCrawlDate' }], 'brands');
    expect(reason).toBe('request');
    expect(message).toContain(
      'IGNORED_FIELD at /startCrawlDate: startCrawlDate has no effect; IGNORED_FIELD at /endCrawl',
    );
    expect(next?.command).toBe('resume brands --accept-warning IGNORED_FIELD');
    expect(sentenceOf(warningPause([warning], null))).toMatch(
      /create the schedule again: --accept-warning IGNORED_FIELD$/,
    );
  });
});
