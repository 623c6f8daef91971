import { toDollars } from '../../core/text/money.js';
import { fraction, hashText, mix } from '../base/hash.js';
import { prices as listed } from '../ledger/prices.js';
import { doneShare, type Run, stopReasonOf } from './run.js';
import { isMetered } from './run-input.js';

/** Usage and cost of a run. */
export interface RunUsage {
  readonly micros: number;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly costDollars: Readonly<Record<string, unknown>>;
}

const toMicros = (dollars: number) => Math.round(dollars * 1e6);
const fixedMicros = Object.fromEntries(
  Object.entries(listed.agentRun).map(([effort, dollars]) => [effort, toMicros(dollars)]),
);
/** Micro-dollars of each unit. The service has no public price for a connected source; the price here is made up. */
const prices = {
  agentComputeUnits: toMicros(listed.agentUse.computeUnit),
  searches: toMicros(listed.agentUse.search),
  emails: toMicros(listed.agentUse.email),
  phoneNumbers: toMicros(listed.agentUse.phoneNumber),
  source: 10_000,
};

const nothing = { agentComputeUnits: 0, searches: 0, emails: 0, phoneNumbers: 0 };

/** Usage and cost of a run that has not ended yet. */
export const noUsage: RunUsage = {
  micros: 0,
  usage: nothing,
  costDollars: { total: 0, agentCompute: 0, search: 0, emails: 0, phoneNumbers: 0 },
};

/**
 * Usage and cost of a run at its end. A run that used up its budget costs the budget, and the quantities of such a run are reduced to
 * match.
 */
export function usageOf(run: Run, seed: number): RunUsage {
  const hash = hashText(run.id, seed);
  const effort = String(run.request.effort ?? 'auto');
  const schema = JSON.stringify(run.request.outputSchema ?? null);
  const quantities = {
    agentComputeUnits: Math.round((0.5 + fraction(hash, 101) * 5.5) * 100) / 100,
    searches: 3 + (mix(hash, 102) % 28),
    emails: /"format":"email"|email/i.test(schema) ? 1 + (mix(hash, 103) % 5) : 0,
    phoneNumbers: /phone/i.test(schema) ? 1 + (mix(hash, 104) % 3) : 0,
  };
  const sources = providersOf(run).map((provider, index) => [provider, 1 + (mix(hash, 110 + index) % 6)] as const);
  const metered =
    quantities.agentComputeUnits * prices.agentComputeUnits +
    quantities.searches * prices.searches +
    quantities.emails * prices.emails +
    quantities.phoneNumbers * prices.phoneNumbers +
    sources.reduce((sum, [, calls]) => sum + calls * prices.source, 0);
  const full = isMetered(effort) ? metered : (fixedMicros[effort] ?? metered);
  const budget = budgetMicros(run);
  const isCapped = isMetered(effort) && (full > budget || stopReasonOf(run) === 'budget_reached');
  const share = isCapped ? budget / full : doneShare(run);
  const scaled = (quantity: number) => Math.round(quantity * share * 1e6) / 1e6;
  const cost = (quantity: number, price: number) => (isMetered(effort) ? Math.round(quantity * share * price) : 0);
  const parts = {
    agentCompute: isMetered(effort)
      ? cost(quantities.agentComputeUnits, prices.agentComputeUnits)
      : Math.round(full * share),
    search: cost(quantities.searches, prices.searches),
    emails: cost(quantities.emails, prices.emails),
    phoneNumbers: cost(quantities.phoneNumbers, prices.phoneNumbers),
  };
  const sourceCosts = sources.map(([provider, calls]) => [provider, cost(calls, prices.source)] as const);
  // The total is computed as the sum of its parts, so that the record adds up to the last millionth.
  const micros = [...Object.values(parts), ...sourceCosts.map(([, one]) => one)].reduce((sum, one) => sum + one, 0);
  const withSources = (of: readonly (readonly [string, number])[]) =>
    of.length > 0 ? { dataSources: Object.fromEntries(of) } : {};
  return {
    micros,
    usage: {
      ...Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, scaled(quantity)])),
      ...withSources(sources.map(([provider, calls]) => [provider, scaled(calls)])),
    },
    costDollars: {
      total: toDollars(micros),
      ...Object.fromEntries(Object.entries(parts).map(([name, one]) => [name, toDollars(one)])),
      ...withSources(sourceCosts.map(([provider, one]) => [provider, toDollars(one)])),
    },
  };
}

function budgetMicros({ request }: Run): number {
  const { maxCostDollars } = (request.budget ?? {}) as { maxCostDollars?: number };
  return toMicros(maxCostDollars ?? listed.agentRun[String(request.effort ?? 'auto')] ?? 5);
}

function providersOf({ request }: Run): string[] {
  const sources = (request.dataSources ?? []) as readonly { readonly provider: string }[];
  return [...new Set(sources.map(({ provider }) => provider))];
}
