import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planData, planText } from '../../../src/cli/progress/plan.js';
import { summaryText } from '../../../src/cli/progress/summary.js';
import { notesOf } from '../../../src/cli/rows/enrich.js';
import { toEnrichRequest } from '../../../src/cli/rows/enrich-request.js';
import type { JobPlan } from '../../../src/worker/config/runtime-types.js';
import { rowsWork } from '../../../src/worker/schedules/schedule-rows.js';
import { plan, request, summary } from '../../support/cli/fake-runtime.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
writeFileSync(join(dir, 'rows.csv'), 'url\nfirma.de\n');

function read(typed: object) {
  const { value, mistakes } = useFlags('enrich', typed, (flags) => toEnrichRequest('rows.csv', flags, dir));
  return { request: value, mistakes };
}
const live = { service: 'live', origin: 'https://api.exa.ai' } as const;
const tried: JobPlan = {
  ...plan,
  staged: { ...plan.staged, rows: 3000, limit: 200, badRows: 40 },
  limitedBadRows: 2,
  rest: { rows: 2800, toBuy: 2700, requests: 27, estimateMicros: 2_700_000 },
  urlCells: { by: 'contents', filled: 2900, urls: 2860, withoutScheme: 0 },
};

describe('--limit and --default-scheme', () => {
  it('are part of the request, and are left out if not given', () => {
    expect(read({ limit: '20', defaultScheme: 'https' }).request).toMatchObject({ limit: 20, defaultScheme: 'https' });
    const { request: plain } = read({});
    expect([plain.limit, plain.defaultScheme]).toEqual([undefined, undefined]);
  });

  it('create no schedule of a trial', () => {
    const access = { config: { origin: 'x' }, shared: false } as Parameters<typeof rowsWork>[1];
    const limited = { ...plan, request: { ...request, limit: 5 } };
    expect(() => rowsWork(limited, access)).toThrow('--limit cannot be scheduled');
  });

  it('give a schedule the column and scheme that its plan found', () => {
    const access = { config: { origin: 'x' }, shared: false } as Parameters<typeof rowsWork>[1];
    const { input } = rowsWork({ ...plan, request: { ...request, defaultScheme: 'https' } }, access);
    expect(input).toMatchObject({ urlColumn: 'source', defaultScheme: 'https' });
  });
});

describe('a plan', () => {
  it('shows the column of URLs, how it was found, and how many of its cells are URLs', () => {
    expect(planText(tried, live)).toMatch(
      /URL column: +source \(found by its contents\): 2,860 of 2,900 cells are URLs, 100 are empty\n/,
    );
    expect(notesOf(tried)[0]).toContain('The URL column is source (found by its contents): 2,860 of 2,900 cells');
    const named = { ...tried, urlCells: { by: 'option', filled: 3000, urls: 1, withoutScheme: 0 } } as const;
    expect(planText(named, live)).toMatch(/URL column: +source: 1 of 3,000 cells is a URL\n/);
    expect(notesOf(named).join()).not.toContain('URL column');
    expect(planData(tried, live)).toMatchObject({
      urlColumn: { name: 'source', by: 'contents', urls: 2860, filled: 2900 },
    });
  });

  it('of a changed job shows how much of it is bought', () => {
    const job = (toBuy: number) => {
      const staged = { ...plan.staged, distinctUnits: 200 };
      return planText({ ...plan, staged, status: 'changed', toBuy, alreadyBought: 200 - toBuy }, live);
    };
    expect(job(200)).toMatch(/^Job: .*changed since the last run; to buy: all 200 URLs\)\n/);
    expect(job(3)).toMatch(/^Job: .*; to buy: 3 of 200 URLs\)\n/);
    expect(job(0)).toMatch(/^Job: .*; nothing to buy\)\n/);
  });

  it('says that failed rows are tried again only if the run will do it', () => {
    for (const redrive of [true, false]) {
      const asked = { ...plan, request: { ...plan.request, redrive } };
      expect(planText({ ...asked, status: 'changed' }, live)).toMatch(/Tried again: +at the end, once/);
      expect(planText({ ...asked, status: 'complete', toBuy: 0 }, live)).not.toContain('Tried again');
    }
  });

  it('of the first rows shows these, and the cost of the rest', () => {
    const text = planText(tried, live);
    expect(text).toMatch(/Rows: +the first 200 of 3,000\n/);
    expect(text).toMatch(/Bad rows: +2\n/);
    expect(text).toMatch(/The rest: +2,800 rows, 2,700 URLs to buy in 27 requests for about \$2\.70/);
    expect(planData(tried, live)).toMatchObject({ limit: 200, badRows: 2, rest: { estimateMicros: 2_700_000 } });
    expect(planData(plan, live)).toMatchObject({ limit: null, rest: null });
  });

  it('of the first rows is shown again at the end, with the command for the rest', () => {
    const end = { ...summary, limit: 200, warehouse: { ...summary.warehouse, rows: 3000, missing: 2800 } };
    const ending = { summary: end, origin: '', badRows: [], unknown: [], bill: null, csv: null, ran: true };
    const text = summaryText({ ...ending, plan: tried });
    expect(text).toContain('Done: the first 200 of 3,000 rows of brands');
    expect(text.split('\n').at(-1)).toBe(
      'Remaining: 2,800 rows, 2,700 URLs to buy in 27 requests for about $2.70. Run the same command without --limit to buy only these.',
    );
  });
});
