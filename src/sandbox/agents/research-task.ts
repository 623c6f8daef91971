import { z } from 'zod';
import { hashText, mix } from '../base/hash.js';
import { sentences } from '../base/sentences.js';
import { pageOf } from '../pages/page.js';
import type { PageSettings } from '../pages/result.js';
import { schemaValue } from '../pages/schema-value.js';
import { findUrls } from '../pages/search-index.js';

export const taskSchema = z.object({
  id: z.string(),
  /** Times are milliseconds of the wall clock. */
  createdAt: z.number(),
  endsAt: z.number(),
  failed: z.boolean(),
  instructions: z.string(),
  outputSchema: z.record(z.string(), z.unknown()).nullable(),
});

/** A research task. Its output follows from its id. */
export type ResearchTask = z.infer<typeof taskSchema>;

export function taskStatus(task: ResearchTask, now: number): 'running' | 'completed' | 'failed' {
  if (now < task.endsAt) return 'running';
  return task.failed ? 'failed' : 'completed';
}

/** Cost of a finished task in micro-dollars: $5 for 1,000 searches, 1,000 pages or a million tokens. */
export function taskCost({ id, failed }: ResearchTask): number {
  const hash = hashText(id, 0);
  const numSearches = failed ? 1 : 4 + (mix(hash, 1) % 12);
  const numPages = failed ? 0 : 3 + (mix(hash, 2) % 20);
  const reasoningTokens = failed ? 1000 : 5000 + (mix(hash, 3) % 40_000);
  return numSearches * 5000 + numPages * 5000 + reasoningTokens * 5;
}

export interface Findings {
  readonly data: unknown;
  readonly citations: Readonly<Record<string, readonly unknown[]>>;
}

/** Output of a finished task: a report, or a value that fits its schema, with citations by field. */
export function findingsOf({ id, instructions, outputSchema }: ResearchTask, pages: PageSettings): Findings {
  const hash = hashText(id, pages.seed);
  const parsed = outputSchema ? schemaValue(outputSchema, hash) : null;
  const report = [1, 2, 3, 4].map((salt) => sentences[mix(hash, salt) % sentences.length]).join(' ');
  const urls = findUrls({ query: instructions }, 4, pages);
  const cite = (url: string) => {
    const page = pageOf(url, pages.seed, 100);
    return { id: url, url, title: page.title, snippet: page.text.slice(0, 120) };
  };
  const fields = typeof parsed === 'object' && parsed !== null ? Object.keys(parsed) : ['report'];
  return {
    data: parsed ?? { report },
    citations: Object.fromEntries(
      fields.map((field, index) => [field, urls.slice(index % 2, (index % 2) + 2).map(cite)]),
    ),
  };
}
