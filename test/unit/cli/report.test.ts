import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { opener, report } from '../../../src/cli/report/report.js';
import { reportPage, share } from '../../../src/cli/report/report-page.js';
import type { ReportWish } from '../../../src/worker/runtime/report.js';
import { fakeContext, fakeRuntime } from '../../support/cli/fake-runtime.js';
import { hostileReport, hostileTeam } from '../../support/cli/hostile-report.js';
import { flagsOf } from '../../support/cli/read-flags.js';
import { folderOfTest } from '../../support/files/folders.js';

/** The elements and texts of a page. Throws where the page is not plain well-formed HTML. */
function parsed(html: string) {
  const elements: { readonly tag: string; readonly attributes: readonly string[] }[] = [];
  const texts: string[] = [];
  const part = /<(?:!doctype html|\/\w+|(\w+)((?: [\w:-]+="[^"<>]*")*)\/?)>|([^<>]+)/gy;
  while (part.lastIndex < html.length) {
    const at = part.lastIndex;
    const [whole, tag, attributes = '', text] = part.exec(html) ?? [];
    if (whole === undefined) throw new Error(`Not plain HTML: ${html.slice(at, at + 60)}`);
    const names = [...attributes.matchAll(/ ([\w:-]+)=/g)].map(([, name = '']) => name);
    if (tag) elements.push({ tag, attributes: names });
    if (text) texts.push(text);
  }
  const codes: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#34': '"', '#39': "'", amp: '&' };
  return { elements, text: texts.join('').replace(/&(\w+|#\d+);/g, (_code, name) => codes[name] ?? '?') };
}
const titlesOf = (html: string) => [...html.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title);
const charts = (html: string) => html.split('<div class="chart').length - 1;

describe.each([
  ['a job', hostileReport],
  ['the team', hostileTeam],
])('a report on %s with hostile texts', (_about, figures) => {
  const html = reportPage(figures);
  const { elements, text } = parsed(html);

  it('has no script, no other element that acts, and no attribute with code', () => {
    const allowed =
      /^(html|head|meta|title|style|body|main|header|footer|section|h1|h2|p|dl|dt|dd|div|span|b|ul|li|table|thead|tbody|tr|th|td|svg|rect|path)$/;
    expect(elements.map(({ tag }) => tag).filter((tag) => !allowed.test(tag))).toEqual([]);
    const attributes = elements.flatMap((element) => element.attributes);
    expect(attributes.filter((name) => /^(on|style$|src|href|xlink)/i.test(name))).toEqual([]);
    expect(html).not.toMatch(/<script|<iframe|<img|<link|javascript:/i);
  });

  it('forbids everything but its own style sheet', () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1]?.replaceAll('&#39;', "'");
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toBe(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`);
    expect(html.match(/<style/g)).toHaveLength(1);
    expect(style).not.toMatch(/url\(|@import|http/);
  });

  it('shows the texts as texts, without marks that change their direction', () => {
    expect(text).toContain('<iframe src="https://evil.example/">');
    expect(text).toContain('{{ page.title }}');
    for (const mark of ['\u202e', '\0', '\u001b']) expect(html).not.toContain(mark);
  });

  it('has charts of shapes alone', () => {
    expect(charts(html)).toBeGreaterThanOrEqual(3);
    for (const [, shapes = ''] of html.matchAll(/<svg[^>]*>(.*?)<\/svg>/g))
      expect(shapes.replace(/<(rect|path)( [\w-]+="[\w\s.,()-]*")+\/>/g, '')).toBe('');
  });
});

describe('a report', () => {
  it('has a section for each kind of figures, and says what is derived', () => {
    const common = ['Dollars by day and operation', 'Use of the rate limit', 'Waits, 429 answers and failures'];
    expect(titlesOf(reportPage(hostileReport))).toEqual([
      ...['Progress', 'Rows by status and error', ...common, 'Null rate of columns'],
      ...['Values that do not fit their column', 'Unknown outcomes', 'Last runs'],
    ]);
    expect(titlesOf(reportPage(hostileTeam))).toEqual(['Jobs', ...common, 'Lag of events', 'Last runs']);
    expect(reportPage(hostileReport)).toContain('the metric searchflow_grant_wait_seconds');
  });

  it('shows an empty job without charts and without figures that are not numbers', () => {
    const summary = { rows: 0, success: 0, error: 0, invalid: 0, missing: 0, vanished: 0, tags: {} };
    const figures = { summary, tags: [], loads: [], viewRows: 0, nulls: [], runs: [] };
    const html = reportPage({
      ...hostileReport,
      figures,
      activity: [],
      days: [],
      runs: [],
      unknown: [],
      unknownCount: 0,
    });
    expect(html).not.toMatch(/NaN|Infinity|undefined/);
    expect(charts(html)).toBe(0);
  });

  it('shows what the team spent, and what counts under its cap besides, as different amounts', () => {
    const day = { since: hostileReport.at, landedMicros: 90_000, openMicros: 0, unknownMicros: 50_000 };
    const { text } = parsed(reportPage({ ...hostileReport, spent: { day, month: day } }));
    expect(text).toContain('Spent today, whole team$0.09and $0.05 possibly charged, 14% of the cap of $1.00');
    expect(text).toContain(
      'The team has spent today $0.09 and $0.05 possibly charged (14% of the cap of $1.00), this month $0.09 and $0.05 possibly charged (no cap).',
    );
  });

  it('rounds shares, and shows 0% and 100% only if they are exact', () => {
    expect([share(2, 3), share(4, 52), share(43, 52)]).toEqual(['66.7%', '7.7%', '82.7%']);
    expect([share(0, 9), share(9, 9), share(9999, 10_000), share(1, 10_000), share(1, 0)]).toEqual([
      ...['0%', '100%', '99.9%', '<0.1%', '–'],
    ]);
  });

  it('is opened by the program of the platform', () => {
    expect([opener('darwin'), opener('win32'), opener('linux')]).toEqual(['open', 'explorer.exe', 'xdg-open']);
  });
});

describe('searchflow report', () => {
  function setting(json = false) {
    const cwd = folderOfTest();
    const wishes: ReportWish[] = [];
    const { runtime } = fakeRuntime({
      report: async (wish) => {
        wishes.push(wish);
        return wish.job === null ? hostileTeam : hostileReport;
      },
    });
    const { context, out, err } = fakeContext(runtime, { flags: { json } });
    const run = (what: string, typed: object = {}) => {
      const { flags, mistakes } = flagsOf('report', { since: '30d', ...typed });
      return report({ ...context, cwd, mistakes }, what, flags);
    };
    return { cwd, wishes, run, out, err };
  }

  it('writes a file below out, with a safe name, and prints its path', async () => {
    const { cwd, run, out, err } = setting();
    expect(await run('brands')).toBe(0);
    const file = join(cwd, 'out', `${hostileReport.job?.job.replace(/[^\w.-]/g, '_')}-report.html`);
    expect(err()).toBe(`Written: ${file}\n`);
    expect(out()).toBe('');
    expect(readFileSync(file, 'utf8')).toBe(reportPage(hostileReport));
  });

  it('asks for whole days, for a job or for the team', async () => {
    const { wishes, run } = setting();
    await run('team', { since: '2026-11-01', until: '2026-11-02', out: '-' });
    await run('brands', { since: '2026-11-01', until: '2026-11-02', out: '-' });
    const range = { since: Date.UTC(2026, 10, 1), until: Date.UTC(2026, 10, 3) };
    expect(wishes).toEqual([
      { job: null, ...range },
      { job: 'brands', ...range },
    ]);
  });

  it('prints figures as JSON and writes no file without --out; - writes the page to stdout', async () => {
    const json = setting(true);
    expect(await json.run('brands')).toBe(0);
    expect(existsSync(join(json.cwd, 'out'))).toBe(false);
    expect(JSON.parse(json.out())).toMatchObject({
      ...{ kind: 'report', about: 'job', at: '2026-11-25T12:00:00.000Z', unknownCount: 2 },
      caps: { dayDollars: 1, monthDollars: null },
      unknown: [{ units: 1, estimateDollars: 0.005, intendedAt: '2026-11-25T12:00:00.000Z' }],
      limits: { windowMs: 10_000 },
      runs: [{ costDollars: 0.72 }],
    });
    const page = setting();
    expect(await page.run('brands', { out: '-' })).toBe(0);
    expect(page.out()).toContain('<!doctype html>');
  });

  it('opens nothing without a terminal', async () => {
    const { run, err } = setting();
    expect(await run('team', { open: true, out: 'x.html' })).toBe(0);
    expect(err()).toContain('Not opened: stderr is not a terminal.');
  });

  it.each([
    [{ out: 'companies.csv' }, "--out: 'companies.csv' must end with .html"],
    [{ out: '-', json: true }, 'both write to stdout'],
    [{ out: '-', open: true }, '--open needs a file'],
    [{ since: '2020-01-01' }, 'A report has at most 366 days.'],
  ])('refuses %j in a sentence, before it reads anything', async (flags, sentence) => {
    const { json = false, ...typed } = flags as { json?: boolean };
    const { run, wishes } = setting(json);
    await expect(run('brands', typed)).rejects.toThrow(sentence);
    expect(wishes).toEqual([]);
  });
});
