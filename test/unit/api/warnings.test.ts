import { describe, expect, it } from 'vitest';
import { readWarnings } from '../../../src/api/answer/read-warnings.js';
import { commandOnOwnLine } from '../../../src/cli/text/way-to-resume.js';
import { warningPause } from '../../../src/core/rows/pause.js';
import { addWarnings, MOST_WARNINGS, notAccepted, type ServiceWarning } from '../../../src/core/rows/warnings.js';

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
    ['IGNORED_FIELD'],
    [{ code: 'X' }],
    [[null, 'text', 7, [], {}, { code: 7 }, { code: '' }, { message: 'no code' }]],
  ])('of an odd form are left out: %j', (warnings) => {
    expect(readWarnings({ warnings }, plain)).toEqual([]);
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
    const { reason, message } = warningPause([warning, { ...warning, path: '/endCrawlDate' }], 'brands');
    expect(reason).toBe('request');
    expect(message).toContain(
      'IGNORED_FIELD at /startCrawlDate: startCrawlDate has no effect; IGNORED_FIELD at /endCrawl',
    );
    expect(commandOnOwnLine(message)).toMatch(/:\n {2}searchflow resume brands --accept-warning IGNORED_FIELD$/);
    expect(warningPause([warning], null).message).toMatch(/create the schedule again: --accept-warning IGNORED_FIELD$/);
  });
});
