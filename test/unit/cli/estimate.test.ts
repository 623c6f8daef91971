import { expect, it } from 'vitest';
import { type Ending, summaryData, summaryText } from '../../../src/cli/progress/summary.js';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';

/** The end of a run with this cost and this estimate, in micro-dollars. */
function ending(costMicros: number, estimateMicros: number): Ending {
  const counts = { rows: 5, success: 5, error: 0, invalid: 0, missing: 0, vanished: 0, tags: {} };
  const summary: JobSummary = {
    ...{ job: 'leads-1', name: 'leads', phase: 'done', into: 'leads.duckdb', csv: null, warehouse: counts },
    ...{ requests: 5, costMicros, estimateMicros, totalCostMicros: costMicros, unknownOutcomes: 0, seconds: 3 },
  };
  return { summary, origin: 'sandbox', badRows: [], unknown: [], bill: null, csv: null, ran: true };
}
const moneyLine = (end: Ending) => summaryText(end).split('\n')[2];

it('a summary shows estimate and cost', () => {
  expect(moneyLine(ending(125_000, 125_000))).toBe(
    'Bought with 5 requests for $0.125 (estimate of these requests $0.125).',
  );
  expect(summaryData(ending(130_000, 125_000))).toMatchObject({ costMicros: 130_000, estimateMicros: 125_000 });
});

it('a summary points out a cost that is more than a twentieth off its estimate', () => {
  expect(moneyLine(ending(760_000, 125_000))).toBe(
    "Bought with 5 requests for $0.76 (estimate of these requests $0.125). This is 508% more than their estimate; the service's prices are higher than the price table.",
  );
  expect(moneyLine(ending(100_000, 125_000))).toMatch(/ This is 20% less than their estimate\.$/);
  for (const cost of [118_750, 131_250]) expect(moneyLine(ending(cost, 125_000))).not.toContain('This is');
});
