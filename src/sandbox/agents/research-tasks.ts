import { z } from 'zod';
import { fraction, hashText } from '../base/hash.js';
import { type NextId, toUuid } from '../base/ids.js';
import { Refusal } from '../base/refusal.js';
import { millisOf, type ResearchOptions } from '../base/state-options.js';
import type { RestoreFact, WriteFact } from '../ledger/fact-log.js';
import type { Ledger } from '../ledger/ledger.js';
import { type ResearchTask, taskCost, taskSchema, taskStatus } from './research-task.js';

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
