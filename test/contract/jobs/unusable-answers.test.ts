import { expect, it, onTestFinished } from 'vitest';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { sentenceOf } from '../../../src/core/rows/pause.js';
import type { Fault } from '../../../src/sandbox/index.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const file = settingOfFile();
const soon = { timeout: 30_000, interval: 50 };
const search = { operation: 'search', template: { query: '{{id}}' } } as const;
const body = (text: string): Fault => ({
  when: { method: 'POST' },
  do: { kind: 'body', body: text, contentType: 'application/json' },
});

/** The unit test of unusable answers has every other form of an answer. */
const cases: readonly [string, Partial<EnrichCsvInput>, Fault, most: number][] = [
  ['contents with no results', {}, body('{"results":null,"costDollars":{"total":0.1}}'), 2],
  ['searches with an envelope', search, body('{"data":{"results":[]},"costDollars":{"total":0.005}}'), 10],
];

it.each(cases)(
  'a job of %s pauses before it has bought much, and again after a resume',
  async (_, changes, fault, most) => {
    const { sandbox } = file.setting;
    onTestFinished(() => sandbox.setFaults([]));
    const job = await file.setting.begin(file.freshRows(400), changes, [fault]);
    await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('service');
    await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
    expect(sentenceOf(await job.progress())).toMatch(
      /^The last \d+ answers have nothing usable: .*: searchflow trace \S+ --row \d+ --answer\. .* To continue: searchflow resume \S+$/,
    );
    const sent = () => sandbox.log().filter((entry) => entry.fault === 'body').length;
    expect(sent()).toBe(most);
    await job.resume();
    await expect.poll(sent, soon).toBeGreaterThan(most);
    await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('service');
    expect(sent()).toBeLessThanOrEqual(2 * most);
    const failed = await job.folder.query<{ tag: string; reason: string | null }>(
      'SELECT DISTINCT error_tag AS tag, error_message AS reason FROM enriched_rows',
    );
    for (const { tag, reason } of failed)
      expect([tag, reason]).toEqual([expect.stringMatching(/^RESPONSE_SHAPE|MISSING/), expect.stringMatching(/./)]);
    await job.handle.terminate();
  },
);

it('a job whose request has an ignored field pauses, and ends once the warning is accepted', async () => {
  const options = { startCrawlDate: '2026-01-01T00:00:00.000Z' };
  const job = await file.setting.begin(file.freshRows(60), { ...search, options });
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('request');
  await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
  const { message, next, requests } = await job.progress();
  expect(message).toContain('IGNORED_FIELD');
  expect(next?.command).toMatch(/^resume \S+ --accept-warning IGNORED_FIELD$/);
  expect(requests).toBeLessThanOrEqual(20);
  await job.resume({ acceptWarnings: ['IGNORED_FIELD'] });
  const { phase, warnings } = await job.result();
  expect({ phase, warnings }).toMatchObject({ phase: 'done', warnings: [{ kind: 'warning', code: 'IGNORED_FIELD' }] });
  const [run] = await job.folder.query<{ warnings: string }>(
    'SELECT CAST(warnings AS text) AS warnings FROM searchflow_runs',
  );
  expect(JSON.parse(run?.warnings ?? '')).toEqual(warnings);
});
