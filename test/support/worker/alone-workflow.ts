import { operations } from '../../../src/workflows/operations.js';

const { search } = operations({ receipts: true, heartbeatTimeout: '2 seconds' });
const { getContents } = operations();

/** Makes one search, as a team's own workflow does. */
export const searchOnce = async (query: string) => search({ query, numResults: 1 });

/** Finds a page and reads it. */
export async function brief(company: string): Promise<unknown> {
  const { results } = await operations().search({ query: `${company} official site`, numResults: 1 });
  return (await getContents({ urls: [results[0]?.url ?? ''], text: true })).results;
}

export { enrichCsv } from '../../../src/workflows/index.js';
