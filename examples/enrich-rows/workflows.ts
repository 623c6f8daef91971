import { sleep } from '@temporalio/workflow';
import { enrichRows, operations, runAgent } from 'searchflow/workflow';

// Clients in other languages start this workflow, and large calls run in it as children.
export { enrichRows } from 'searchflow/workflows';

/** Finds the site of each company, in their order, for at most five dollars. */
export async function findSites(companies: readonly { readonly company: string }[]) {
  const { results, summary } = await enrichRows({
    rows: companies.map(({ company }) => ({ company })),
    operation: 'search',
    template: { query: '{{company}} official site', numResults: 1 },
    maxCostDollars: 5,
  });
  const answers = results.map(({ data }) => data as { readonly results: readonly { readonly url: string }[] } | null);
  return { sites: answers.map((answer) => answer?.results[0]?.url ?? null), costDollars: summary.costDollars };
}

/** Asks an agent who founded a company, and searches for a page about the founder a day later. */
export async function checkFounder(company: string) {
  const run = await runAgent({ query: `Who founded ${company}?`, effort: 'low' });
  await sleep('1 day');
  const { results } = await operations().search({ query: `${company} founder`, numResults: 1 });
  return { founder: run.output?.text ?? null, url: results[0]?.url ?? null };
}
