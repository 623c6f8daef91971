import { describe, expect, it } from 'vitest';
import { operationTable } from '../../../src/api/operations.js';
import {
  estimateAgentRun,
  estimateContents,
  estimateSearch,
  type PriceTable,
  pricesAt,
  priceTables,
} from '../../../src/core/purchase/prices.js';

const day = (text: string) => pricesAt(Date.parse(text));
const [contract, now] = [day('2026-02-28T23:59:59Z'), day('2026-11-21')];
const search = (request: object, table: PriceTable = now) => estimateSearch({ query: 'q', ...request }, table) / 1e6;

describe('prices', () => {
  it('come from the newest table in force, in any order of the tables', () => {
    expect(contract.since).toBe('1970-01-01');
    expect(now.since).toBe('2026-03-01');
    expect(day('1960-01-01')).toEqual(contract);
    expect(pricesAt(Date.parse('2026-03-01'), [...priceTables].reverse())).toEqual(now);
  });

  it.each([
    [{ type: 'fast' }, 0.007],
    [{ type: 'instant', numResults: 10 }, 0.004],
    [{ type: 'lite', numResults: 25 }, 0.019],
    [{ type: 'neural', numResults: 100 }, 0.097],
    // The service chooses the price of these types within a range; the estimate is the end of the range.
    [{}, 0.015],
    [{ type: 'auto' }, 0.015],
    [{ type: 'deep' }, 0.015],
    [{ type: 'of-tomorrow', numResults: 12 }, 0.017],
    // The price includes text and highlights; a summary costs extra for each page.
    [{ type: 'fast', contents: { text: true, highlights: {} } }, 0.007],
    [{ type: 'fast', contents: { text: true, summary: { query: 'x' } } }, 0.017],
    [{ type: 'fast', numResults: 2, contents: { summary: true, subpages: 3 } }, 0.007 + 2 * 0.001 + 6 * 0.001],
    [{ type: 'fast', contents: null }, 0.007],
  ])('of a search %o are at most $%d', (request, dollars) => {
    expect(search(request)).toBeCloseTo(dollars, 9);
  });

  it('of a search depended in the contract on the number of results and the pages', () => {
    expect(search({ type: 'neural', numResults: 25 }, contract)).toBe(0.005);
    expect(search({ type: 'neural', numResults: 26 }, contract)).toBe(0.025);
    expect(search({ type: 'neural', numResults: 101 }, contract)).toBe(1);
    expect(search({ type: 'deep', numResults: 26 }, contract)).toBe(0.075);
    expect(search({ type: 'auto', numResults: 5 }, contract)).toBe(0.015);
    expect(search({ type: 'fast', contents: { text: true, summary: true } }, contract)).toBe(0.025);
  });

  it.each([
    [{}, 1000],
    [{ text: true }, 1000],
    [{ text: false }, 1000],
    [{ text: true, highlights: { query: 'x' } }, 2000],
    [{ text: true, highlights: true, summary: {} }, 3000],
    [{ text: true, subpages: 4 }, 5000],
    [{ highlights: true, subpages: 1, extras: { links: 3 } }, 2000],
  ])('of a page with %o are %d micro-dollars', (options, micros) => {
    expect(estimateContents(options, 1, now)).toBe(micros);
    expect(estimateContents(options, 100, now)).toBe(100 * micros);
  });

  it('of agent runs are those of fixed efforts, the run’s own budget, or the maximum of its effort', () => {
    expect(estimateAgentRun('low', undefined, now)).toBe(25_000);
    expect(estimateAgentRun(undefined, undefined, now)).toBe(5_000_000);
    expect(estimateAgentRun('auto', 1.5, now)).toBe(1_500_000);
    expect(estimateAgentRun('of-tomorrow', undefined, now)).toBe(20_000_000);
  });

  it('exist for every paid operation', () => {
    const paid = Object.values(operationTable).filter((row) => row.paid);
    expect(paid.length).toBeGreaterThan(5);
    for (const row of paid) {
      const input = { query: 'q', url: 'https://a.example', urls: ['https://a.example'], instructions: 'x' } as never;
      expect(row.estimate(input, now), row.name).toBeGreaterThan(0);
      expect(row.estimate(input, contract), row.name).toBeGreaterThan(0);
    }
  });
});
