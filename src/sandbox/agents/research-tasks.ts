import { z } from 'zod';
import { Refusal } from '../base/refusal.js';
import { fraction, hashText, mix, type NextId, sentences, toUuid } from '../base/sentences.js';
import { millisOf, type ResearchOptions } from '../base/state-options.js';
import type { Ledger } from '../ledger/ledger.js';
import type { RestoreFact, WriteFact } from '../ledger/log-file.js';
import { findUrls, type PageSettings, pageOf } from '../pages/result.js';
import { schemaValue } from '../pages/schema-value.js';

const taskSchema = z.object({
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
function taskCost({ id, failed }: ResearchTask): number {
  const hash = hashText(id, 0);
  const numSearches = failed ? 1 : 4 + (mix(hash, 1) % 12);
  const numPages = failed ? 0 : 3 + (mix(hash, 2) % 20);
  const reasoningTokens = failed ? 1000 : 5000 + (mix(hash, 3) % 40_000);
  return numSearches * 5000 + numPages * 5000 + reasoningTokens * 5;
}

interface Findings {
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

const factSchema = z.object({ kind: z.literal('research-task'), task: taskSchema });

export interface ResearchTasksParts {
  readonly options: ResearchOptions;
  readonly seed: number;
  readonly nextId: NextId;
  readonly ledger: Ledger;
  readonly write: WriteFact;
  readonly now: () => number;
}

/** The research tasks of the team. */
export class ResearchTasks {
  readonly #parts: ResearchTasksParts;
  readonly #tasks = new Map<string, ResearchTask>();
  readonly #inProgress = new Set<ResearchTask>();
  #maxInProgress = 0;

  constructor(parts: ResearchTasksParts) {
    this.#parts = parts;
  }

  get now(): number {
    return this.#parts.now();
  }

  get inProgress(): number {
    this.advance();
    return this.#inProgress.size;
  }

  get maxInProgress(): number {
    return this.#maxInProgress;
  }

  get count(): number {
    return this.#tasks.size;
  }

  newestFirst(): ResearchTask[] {
    return [...this.#tasks.values()].reverse();
  }

  /** Throws 404 if there is no such task. */
  get(id: string): ResearchTask {
    const task = this.#tasks.get(id);
    if (!task) throw new Refusal(404, 'NOT_FOUND', `There is no research task ${id}`);
    return task;
  }

  /** Starts a task. Refuses if the credits are used up, or if the maximum number is in progress. */
  create(wanted: Pick<ResearchTask, 'instructions' | 'outputSchema'>): ResearchTask {
    const { options, seed, nextId, ledger, write, now } = this.#parts;
    ledger.checkCredits();
    if (this.inProgress >= options.maxInProgress) {
      throw new Refusal(429, 'RATE_LIMIT_EXCEEDED', `${options.maxInProgress} research tasks are in progress`);
    }
    const id = toUuid(nextId());
    const hash = hashText(id, seed);
    const createdAt = now();
    const endsAt = createdAt + millisOf(options.durationMs, fraction(hash, 131));
    const failed = fraction(hash, 132) < options.failureRate;
    const task = { id, createdAt, endsAt, failed, ...wanted };
    write({ kind: 'research-task', task });
    this.#add(task);
    this.#maxInProgress = Math.max(this.#maxInProgress, this.#inProgress.size);
    return task;
  }

  /** Charges the tasks that have ended since the last call. */
  advance(): void {
    const now = this.#parts.now();
    for (const task of this.#inProgress) {
      if (taskStatus(task, now) === 'running') continue;
      this.#inProgress.delete(task);
      this.#parts.ledger.charge('createResearchTask', task.id, taskCost(task));
    }
  }

  readonly restore: RestoreFact = (content) => {
    const fact = factSchema.safeParse(content).data;
    if (fact) this.#add(fact.task);
    return fact !== undefined;
  };

  reset(): void {
    this.#tasks.clear();
    this.#inProgress.clear();
    this.#maxInProgress = 0;
  }

  #add(task: ResearchTask): void {
    this.#tasks.set(task.id, task);
    this.#inProgress.add(task);
  }
}
