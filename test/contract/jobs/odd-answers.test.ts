import { expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { type Folder, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';

const file = settingOfFile();

/** Number of jobs so far: each job gets rows that no other job uses. */
let used = 0;
async function run(faults: readonly Fault[]) {
  const rows = plainRows(60, 1000 * ++used);
  const job = await file.setting.begin(rows, {}, faults);
  const summary = await job.result();
  return { rows, summary, folder: job.folder, sandbox: file.setting.sandbox };
}

/** Whether each row that got a page got the page of its own URL. */
async function hasOwnPages(folder: Folder): Promise<boolean> {
  const [found] = await folder.query<{ own: boolean }>(
    `SELECT bool_and(json_extract_string(response, '$.url') = url) AS own FROM enriched_rows WHERE status = 'success'`,
  );
  return found?.own ?? false;
}

it.each(['shuffle', 'repeat', 'add', 'unknown'] as const)(
  'fault 9: with the results of every answer changed (%s), each row gets its own page',
  async (change) => {
    const { rows, folder, sandbox } = await run([{ when: {}, do: { kind: 'results', change } }]);
    expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
    expect(await hasOwnPages(folder)).toBe(true);
    expect(boughtAgain(sandbox)).toEqual({});
  },
);

it('fault 9: a row whose result is missing from the answer reports it, and no other row is shifted', async () => {
  const { rows, folder, summary, sandbox } = await run([{ when: {}, do: { kind: 'results', change: 'lose' } }]);
  const enriched = folder.enriched();
  expect(enriched.map(({ id }) => id)).toEqual(rows.map(([id]) => id));
  const missing = enriched.filter(({ status }) => status !== 'success');
  expect(missing.map((record) => record.error_tag)).toEqual(Array(6).fill('NO_CONTENT'));
  expect(await hasOwnPages(folder)).toBe(true);
  expect(summary.warehouse).toMatchObject({ success: 54, error: 6 });
  expect(boughtAgain(sandbox)).toEqual({});
});

it.each([
  ['with', '0'],
  ['without', undefined],
])(
  'fault 3: under 429 for a third of the requests, %s Retry-After, no row is lost or failed',
  async (_, retryAfter) => {
    const { rows, folder, summary, sandbox } = await run([
      {
        when: { probability: 0.3, seed: 3 },
        do: { kind: 'status', status: 429, tag: 'RATE_LIMIT_EXCEEDED', ...(retryAfter ? { retryAfter } : {}) },
      },
    ]);
    expect(sandbox.stats().byStatus[429]).toBeGreaterThan(0);
    expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
    expect(summary).toMatchObject({ unknownOutcomes: 0, requests: 6 });
    expect(boughtAgain(sandbox)).toEqual({});
  },
);
