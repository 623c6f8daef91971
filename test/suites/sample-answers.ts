import type { OperationMocks } from './mock-operations.js';

const site = (url: string, title: string) => ({
  ...{ id: url, url, title, author: 'Ada Lindqvist', publishedDate: '2023-01-14T23:03:21.670Z' },
  favicon: new URL('/favicon.ico', url).href,
});

const results = [
  site('https://open-catalogue.example/acme-official-site-1', 'Quiet Guide – open-catalogue.example'),
  site('https://long-winter.example/acme-official-site-2', 'Modern Überblick – long-winter.example'),
];

const run = {
  ...{ id: 'agent_run_1435b57379681f46b6cdae6400000001', object: 'agent_run', createdAt: '2026-11-28T18:58:14.179Z' },
  usage: { agentComputeUnits: 0.62, searches: 6, emails: 0, phoneNumbers: 0 },
} as const;

/**
 * Answers that the sandbox gave, as mocks: `mockOperations(sampleAnswers)`, or with some of your own,
 * `mockOperations({ ...sampleAnswers, search: … })`. They have the fields and costs of real answers.
 */
export const sampleAnswers = {
  search: ({ numResults = 10 }) => ({
    ...{ requestId: '5e19e28bc24a15b538b4005800000001', searchType: 'neural', resolvedSearchType: 'neural' },
    results: results.slice(0, numResults),
    costDollars: { total: 0.007, search: { neural: 0.007 } },
  }),
  getContents: ({ urls = [] }) => ({
    requestId: '08aed4061c5d236d1736388f00000002',
    results: urls.map((url) => ({
      ...site(url, `Quiet Story – ${new URL(url).host}`),
      text: 'The repair guide documents the older models without much fuss.',
    })),
    statuses: urls.map((id) => ({ id, status: 'success', source: 'cached' })),
    costDollars: { total: urls.length / 1000, contents: { text: urls.length / 1000 } },
  }),
  answer: ({ query }) => ({
    requestId: '6f13768c9c0b064d70531c6a00000003',
    answer: `About “${query}”: the workshop collected recipes and explains why.`,
    citations: results,
    costDollars: { total: 0.005 },
  }),
  createAgentRun: (request) => ({
    ...{ ...run, request, status: 'running', stopReason: null, completedAt: null },
    output: { text: '', structured: null, grounding: [] },
    costDollars: { total: 0 },
  }),
  getAgentRun: () => ({
    ...{ ...run, status: 'completed', stopReason: 'schema_satisfied', completedAt: '2026-11-28T18:58:15.676Z' },
    output: { text: 'Our archive tested the “long winter” edition.', structured: null, grounding: [] },
    costDollars: { total: 0.025, agentCompute: 0.025 },
  }),
} satisfies OperationMocks;
