import { z } from 'zod';
import { millisOf } from '../base/options.js';
import { Refusal } from '../base/refusal.js';
import { Runs } from '../base/runs.js';
import { fraction, hashText, mix, type NextId, sentences, toUuid } from '../base/sentences.js';
import { findUrls, type PageSettings, pageOf } from '../pages/result.js';
import { schemaValue } from '../pages/schema-value.js';
import type { World } from '../world.js';

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

/** Output of a finished task: a report, or a value that fits its schema, with citations by field. */
export function findingsOf({ id, instructions, outputSchema }: ResearchTask, pages: PageSettings) {
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

/** The research tasks of the team. */
export class ResearchTasks {
  readonly #world: World;
  readonly #nextId: NextId;
  readonly #tasks = new Runs<ResearchTask>();
  readonly #keep: (task: ResearchTask) => void;

  constructor(world: World) {
    this.#world = world;
    this.#nextId = world.ids('research');
    this.#keep = world.ledger.facts('research-task', taskSchema, (task) => this.#tasks.put(task));
  }

  newestFirst(): ResearchTask[] {
    return this.#tasks.newestFirst();
  }

  /** Throws 404 if there is no such task. */
  get(id: string): ResearchTask {
    const task = this.#tasks.get(id);
    if (!task) throw new Refusal(404, 'NOT_FOUND', `There is no research task ${id}`);
    return task;
  }

  /** Starts a task. Refuses if the credits are used up, or if the maximum number is in progress. */
  create(wanted: Pick<ResearchTask, 'instructions' | 'outputSchema'>): ResearchTask {
    const { options, ledger, now } = this.#world;
    const { maxInProgress, durationMs, failureRate } = options.research;
    ledger.checkCredits();
    this.advance();
    if (this.#tasks.open().length >= maxInProgress) {
      throw new Refusal(429, 'RATE_LIMIT_EXCEEDED', `${maxInProgress} research tasks are in progress`);
    }
    const id = toUuid(this.#nextId());
    const hash = hashText(id, options.seed);
    const createdAt = now();
    const endsAt = createdAt + millisOf(durationMs, fraction(hash, 131));
    const task = { id, createdAt, endsAt, failed: fraction(hash, 132) < failureRate, ...wanted };
    this.#keep(task);
    return this.#tasks.started(id);
  }

  /** Charges the tasks that have ended since the last call. */
  advance(): void {
    const now = this.#world.now();
    this.#tasks.settle(
      ({ endsAt }) => now >= endsAt,
      (task) => this.#world.ledger.charge('createResearchTask', task.id, taskCost(task)),
    );
  }

  view() {
    this.advance();
    return { count: this.#tasks.size, inProgress: this.#tasks.open().length, maxInProgress: this.#tasks.maxOpen };
  }

  reset(): void {
    this.#tasks.clear();
  }
}
