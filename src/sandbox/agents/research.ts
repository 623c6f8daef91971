import { z } from 'zod';
import { millisOf, type Settings } from '../base/options.js';
import { listQueryOf } from '../base/refusal.js';
import { fraction, hashText, mix, prose, toUuid } from '../base/sentences.js';
import { Table } from '../base/table.js';
import { saleOf } from '../ledger/log-file.js';
import { findUrls, pageOf } from '../pages/page.js';

import { isSchema, schemaValue } from '../pages/schema-value.js';
import { checkSchema } from '../pages/synthesis.js';
import { plain, type Routes, route } from '../route.js';
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

function taskRecord(task: ResearchTask, { now, options }: World): Record<string, unknown> {
  const { id, instructions, outputSchema: schema } = task;
  const status = taskStatus(task, now());
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

export const researchRoutes = (research: Table<ResearchTask>, world: World): Routes => ({
  'POST /research/tasks': route({
    body: z.looseObject({
      input: z.looseObject({ instructions: z.string().min(1).max(4096) }),
      output: z.looseObject({ schema: z.record(z.string(), z.unknown()) }).optional(),
    }),
    work: ({ body, input }) => {
      const { options, now } = world;
      const outputSchema = body.output?.schema ?? null;
      checkSchema(outputSchema, 'the schema');
      const { maxInProgress, durationMs, failureRate } = options.research;
      const { id } = research.start(maxInProgress, 'RATE_LIMIT_EXCEEDED', (digits) => {
        const hash = hashText(toUuid(digits), options.seed);
        const endsAt = now() + millisOf(durationMs, fraction(hash, 131));
        const { instructions } = body.input;
        return { id: toUuid(digits), endsAt, failed: fraction(hash, 132) < failureRate, instructions, outputSchema };
      });
      return { json: { id }, purchase: saleOf('createResearchTask', input, 0, id) };
    },
  }),
  'GET /research/tasks': route({
    query: listQueryOf(200, 25, {}),
    work: ({ requestId, query }) => {
      return { json: { requestId, ...research.page(query, (task) => taskRecord(task, world)) } };
    },
  }),
  'GET /research/tasks/:id': plain(({ id }) => taskRecord(research.get(id), world)),
});
