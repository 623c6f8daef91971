import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rateProfiles } from '../../../src/core/limiter/rate.js';
import { estimateContents, estimateSearch, pricesAt, priceTables } from '../../../src/core/purchase/prices.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { contentsQps } from '../../../src/worker/config/derived-settings.js';
import { rateProfileProblems, readPriceFile } from '../../../src/worker/config/price-file.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();

function file(name: string, content: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('a rate profile from a file', () => {
  it('has the form of the built-in profiles', () => {
    expect(rateProfileProblems(rateProfiles.public)).toEqual([]);
  });

  it.each([
    ['no JSON', '{', /cannot be read: it is not JSON/],
    ['no bucket', { name: 'x', buckets: [] }, /buckets/],
    ['half a request a second', { name: 'x', buckets: [{ name: 'a', qps: 0.5, classes: ['*'] }] }, /buckets\.0\.qps/],
    ['an unknown field', { name: 'x', buckets: [{ name: 'a', qsp: 1, qps: 1, classes: ['*'] }] }, /qsp/],
    [
      'two buckets of one name',
      {
        name: 'x',
        buckets: [
          { name: 'a', qps: 1, classes: ['*'] },
          { name: 'a', qps: 2, classes: ['*'] },
        ],
      },
      /the same name/,
    ],
  ])('with %s is refused in a line', (name, content, wanted) => {
    const env = { SEARCHFLOW_RATE_PROFILE: file(`${name}.json`, content) };
    expect(() => readConfig({ env, flags: {}, cwd: dir, say: () => undefined })).toThrow(wanted);
  });

  it('is set like a profile name, and its problems are reported with all other mistakes', () => {
    file('ours.json', { name: 'ours', buckets: [{ name: 'all', qps: 40, classes: ['*'] }] });
    const read = (rateProfile: string) =>
      readConfig({
        env: {},
        flags: { rateProfile, concurrency: rateProfile === 'ours.json' ? '9' : 'x' },
        cwd: dir,
        say: () => undefined,
      });
    expect(contentsQps(read('ours.json').rate)).toBe(40);
    expect(() => read('none.json')).toThrow(/--rate-profile: 'none.json'.*cannot be read[\s\S]*--concurrency/);
    expect(() => read('quick')).toThrow(/contract, boost, public or a .json file/);
  });
});

let count = 0;

function priceFile(content: unknown): string {
  const path = join(dir, `${++count}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const at = (day: string) => Date.parse(day);

describe('price tables from a file', () => {
  it('change only the listed prices, from their first day on; the rest is as in the newest built-in table', () => {
    const tables = readPriceFile(
      priceFile([
        {
          since: '2027-02-01',
          search: {
            auto: 0.01,
            deep: [
              [10, 0.02],
              [null, 0.05],
            ],
          },
        },
        { since: '2026-12-01', contentsPage: 0.002, searchPage: { summary: 0.003 } },
      ]),
    );
    const now = pricesAt(at('2026-11-30'), tables);
    const winter = pricesAt(at('2026-12-01'), tables);
    const spring = pricesAt(at('2027-03-01'), tables);
    expect(now).toEqual(priceTables.at(-1));
    expect([now, winter, spring].map((table) => estimateContents({ text: true }, 10, table))).toEqual([
      10_000, 20_000, 20_000,
    ]);
    expect(winter.searchPage).toEqual({ text: 0, highlights: 0, summary: 0.003 });
    expect(estimateSearch({ type: 'deep', numResults: 20 }, spring)).toBeGreaterThanOrEqual(60_000);
    expect(spring.search.lite).toEqual(now.search.lite);
  });

  it('replace built-in tables that begin later, from their first day on', () => {
    const tables = readPriceFile(priceFile([{ since: '2026-01-01', answer: 0.01 }]));
    expect(pricesAt(at('2026-11-21'), tables)).toMatchObject({
      since: '2026-01-01',
      answer: 0.01,
      searchResult: 0.001,
    });
    expect(pricesAt(at('2025-11-21'), tables)).toEqual(priceTables[0]);
  });

  it.each([
    ['no JSON', '{', /^cannot be read/],
    ['no table', [], /^is not a list of price tables/],
    ['no day', [{ since: 'soon' }], /0\.since/],
    ['one day twice', [{ since: '2026-12-01' }, { since: '2026-12-01' }], /have the same "since"/],
    ['a price below nothing', [{ since: '2026-12-01', answer: -1 }], /0\.answer/],
    ['a price in words', [{ since: '2026-12-01', agentRun: { low: 'much' } }], /0\.agentRun\.low/],
    ['an unknown name', [{ since: '2026-12-01', awnser: 1 }], /awnser/],
    ['bands without an end', [{ since: '2026-12-01', search: { auto: [[25, 0.005]] } }], /0\.search\.auto/],
  ])('with %s are refused in a line', (_name, content, wanted) => {
    expect(() => readPriceFile(priceFile(content))).toThrow(wanted);
    expect(() => readPriceFile(priceFile(content))).not.toThrow(/\n/);
  });

  it('are named by SEARCHFLOW_PRICES, and their problems are reported with all other mistakes', () => {
    const read = (content: unknown, qps = '10') =>
      readConfig({ env: { SEARCHFLOW_PRICES: priceFile(content) }, flags: { qps }, cwd: '/', say: () => undefined });
    expect(read([{ since: '2026-01-01', answer: 0.01 }]).prices).toHaveLength(2);
    expect(() => read([], 'x')).toThrow(/--qps[\s\S]*SEARCHFLOW_PRICES.*is not a list of price tables/);
  });
});
