import { z } from 'zod';
import type { Settings } from '../base/options.js';
import { hashText, mix, prose } from '../base/sentences.js';
import { Table } from '../base/table.js';
import { findUrls, pageOf } from '../pages/page.js';

import { isSchema, schemaValue } from '../pages/schema-value.js';
import type { World } from '../world.js';

const taskSchema = z.object({
  id: z.string(),
  /** Unix ms. */
  endsAt: z.number(),
  failed: z.boolean(),
  instructions: z.string(),
  outputSchema: z.record(z.string(), z.unknown()).nullable(),
});

/** A research task. Its output follows from its id. */
export type ResearchTask = z.infer<typeof taskSchema>;

/** The research tasks of the team. */
export function researchOf(world: World): Table<ResearchTask> {
  return new Table(world, {
    fact: 'research-task',
    ids: 'research',
    noun: 'research task',
    schema: taskSchema,
    run: { operation: 'createResearchTask', endOf: ({ endsAt }) => endsAt, priceOf },
  });
}

/** Micro-dollars of a finished task: $5 for 1,000 searches, 1,000 pages or a million tokens. */
function priceOf({ id, failed }: ResearchTask): number {
  const hash = hashText(id, 0);
  const numSearches = failed ? 1 : 4 + (mix(hash, 1) % 12);
  const numPages = failed ? 0 : 3 + (mix(hash, 2) % 20);
  const reasoningTokens = failed ? 1000 : 5000 + (mix(hash, 3) % 40_000);
  return numSearches * 5000 + numPages * 5000 + reasoningTokens * 5;
}

export function taskStatus({ endsAt, failed }: ResearchTask, now: number): string {
  if (now < endsAt) return 'running';
  return failed ? 'failed' : 'completed';
}

export function taskRecord(task: ResearchTask, now: number, options: Settings): Record<string, unknown> {
  const { id, instructions, outputSchema: schema } = task;
  const status = taskStatus(task, now);
  return { id, status, instructions, schema, ...(status === 'completed' ? findingsOf(task, options) : {}) };
}

/** Output of a finished task: a report, or a value that fits its schema, with citations by field. */
function findingsOf({ id, instructions, outputSchema }: ResearchTask, options: Settings) {
  const hash = hashText(id, options.seed);
  const data = (outputSchema ? schemaValue(outputSchema, hash) : null) ?? { report: prose(hash, 4) };
  const urls = findUrls({ query: instructions }, 4, options);
  const cite = (url: string) => {
    const { title, text } = pageOf(url, options.seed, 100);
    return { id: url, url, title, snippet: text.slice(0, 120) };
  };
  const fields = isSchema(data) ? Object.keys(data) : ['report'];
  const citations = fields.map((field, index) => [field, urls.slice(index % 2, (index % 2) + 2).map(cite)]);
  return { data, citations: Object.fromEntries(citations) };
}
