import { z } from 'zod';
import { Refusal } from '../base/refusal.js';
import type { NextId } from '../base/sentences.js';
import { fraction, hashText } from '../base/sentences.js';
import { type AgentRunOptions, millisOf } from '../base/state-options.js';
import type { Ledger } from '../ledger/ledger.js';
import type { RestoreFact, WriteFact } from '../ledger/log-file.js';
import { isMetered, isTerminalAt, type Run, type RunInput, statusAt, storedRunSchema, usageOf } from './run-record.js';

const factSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('agent-run'), run: storedRunSchema }),
  z.object({
    kind: z.literal('agent-run-ended'),
    id: z.string(),
    how: z.enum(['cancelled', 'stopped']),
    at: z.number(),
  }),
  z.object({ kind: z.literal('agent-run-deleted'), id: z.string() }),
]);

export interface AgentRunsParts {
  readonly options: AgentRunOptions;
  readonly seed: number;
  readonly nextId: NextId;
  readonly ledger: Ledger;
  readonly write: WriteFact;
  /** Milliseconds of the wall clock. */
  readonly now: () => number;
}

/** The agent runs of the team, by id and in order. There is no timer: a run's state follows from the current time. */
export class AgentRuns {
  readonly #parts: AgentRunsParts;
  readonly #runs = new Map<string, Run>();
  /** Serial numbers of all runs ever created, by id: a cursor may name a deleted run. */
  readonly #serials = new Map<string, number>();
  readonly #inProgress = new Set<Run>();
  #wakeNext = new AbortController();
  #maxInProgress = 0;

  constructor(parts: AgentRunsParts) {
    this.#parts = parts;
  }

  get options(): AgentRunOptions {
    return this.#parts.options;
  }

  get now(): number {
    return this.#parts.now();
  }

  /** Number of runs that have a slot now. */
  get inProgress(): number {
    this.advance();
    return this.#inProgress.size;
  }

  /** The highest number of slots in use so far. */
  get maxInProgress(): number {
    return this.#maxInProgress;
  }

  /** Runs, the newest first. With a cursor, only the runs after the cursor; throws if the cursor names no run. */
  newestFirst(cursor?: string): Run[] {
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : this.#serials.get(cursor);
    if (before === undefined) throw new Refusal(400, 'INVALID_REQUEST', 'Invalid query: cursor: no such run');
    return [...this.#runs.values()].reverse().filter(({ serial }) => serial < before);
  }

  find(id: string): Run | null {
    return this.#runs.get(id) ?? null;
  }

  /** Throws 404 if there is no such run. */
  get(id: string): Run {
    const run = this.#runs.get(id);
    if (!run) throw new Refusal(404, 'RUN_NOT_FOUND', `There is no agent run ${id}`);
    return run;
  }

  /** Starts a run. Refuses if the credits or the slots are used up, or if the previous run is missing or not completed. */
  create(request: RunInput): Run {
    this.#checkPrevious(request.previousRunId);
    this.#parts.ledger.checkCredits();
    const { options, now, nextId } = this.#parts;
    if (this.inProgress >= options.maxInProgress) {
      const why = `${options.maxInProgress} agent runs are in progress, which is the maximum`;
      throw new Refusal(429, 'CONCURRENCY_LIMIT_REACHED', why);
    }
    const id = `agent_run_${nextId()}`;
    const hash = hashText(id, this.#parts.seed);
    const createdAt = now();
    const startsAt = createdAt + millisOf(options.queuedMs, fraction(hash, 121));
    const endsAt = startsAt + millisOf(options.durationMs, fraction(hash, 122));
    const stored = { id, createdAt, startsAt, endsAt, ...this.#outcome(hash, request), request };
    this.#parts.write({ kind: 'agent-run', run: stored });
    const run = this.#add(stored);
    this.#maxInProgress = Math.max(this.#maxInProgress, this.#inProgress.size);
    return run;
  }

  /** Cancels a run in progress. A cancelled run has no results. A run that has ended does not change. */
  cancel(id: string): Run {
    return this.#end(this.get(id), 'cancelled');
  }

  /** Stops a run of effort `max` or `ultra` early. The run keeps its results so far. */
  stop(id: string): Run {
    const run = this.get(id);
    if (run.request.effort !== 'max' && run.request.effort !== 'ultra') {
      throw new Refusal(400, 'INVALID_REQUEST', 'Only runs of effort max and ultra can be stopped');
    }
    return this.#end(run, 'stopped');
  }

  delete(id: string): void {
    const run = this.get(id);
    this.advance();
    if (this.#inProgress.has(run)) this.#end(run, 'cancelled');
    this.advance();
    this.#parts.write({ kind: 'agent-run-deleted', id });
    this.#runs.delete(id);
  }

  /** Charges the runs that have ended since the last call, and releases their slots. */
  advance(): void {
    const now = this.#parts.now();
    for (const run of this.#inProgress) {
      if (!isTerminalAt(run, now)) continue;
      this.#inProgress.delete(run);
      this.#parts.ledger.charge('createAgentRun', run.id, usageOf(run, this.#parts.seed).micros);
    }
  }

  /** A signal that is aborted when a caller ends a run. Code that waits for the end of a run then checks again. */
  nextWake(): AbortSignal {
    return this.#wakeNext.signal;
  }

  statuses(): Record<string, number> {
    const now = this.#parts.now();
    const counts: Record<string, number> = {};
    for (const run of this.#runs.values()) {
      const status = statusAt(run, now);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  readonly restore: RestoreFact = (content) => {
    const fact = factSchema.safeParse(content).data;
    if (!fact) return false;
    if (fact.kind === 'agent-run') this.#add(fact.run);
    else if (fact.kind === 'agent-run-deleted') this.#remove(fact.id);
    else this.#replace(this.get(fact.id), { how: fact.how, at: fact.at });
    return true;
  };

  reset(): void {
    this.#runs.clear();
    this.#inProgress.clear();
    this.#serials.clear();
    this.#maxInProgress = 0;
    this.#wake();
  }

  #outcome(hash: number, request: RunInput): { status: string; stopReason: string | null } {
    const { failureRate, budgetRate, unknownStatusRate, unknownStopReasonRate } = this.#parts.options;
    if (fraction(hash, 123) < failureRate) return { status: 'failed', stopReason: 'error' };
    if (fraction(hash, 124) < unknownStatusRate) return { status: 'archived', stopReason: null };
    if (fraction(hash, 125) < unknownStopReasonRate) return { status: 'completed', stopReason: 'evidence_exhausted' };
    const isOver = isMetered(request.effort ?? 'auto') && fraction(hash, 126) < budgetRate;
    return { status: 'completed', stopReason: isOver ? 'budget_reached' : 'schema_satisfied' };
  }

  #checkPrevious(id: string | undefined): void {
    if (id === undefined) return;
    const run = this.#runs.get(id);
    if (!run) throw new Refusal(400, 'PREVIOUS_RUN_NOT_FOUND', `previousRunId: there is no agent run ${id}`);
    if (statusAt(run, this.now) !== 'completed') {
      throw new Refusal(400, 'PREVIOUS_RUN_NOT_COMPLETED', `previousRunId: the agent run ${id} is not completed`);
    }
  }

  #add(stored: z.infer<typeof storedRunSchema>): Run {
    const run: Run = { ...stored, serial: this.#serials.size + 1, ended: null };
    this.#runs.set(run.id, run);
    this.#serials.set(run.id, run.serial);
    this.#inProgress.add(run);
    return run;
  }

  #end(run: Run, how: 'cancelled' | 'stopped'): Run {
    const at = this.#parts.now();
    if (isTerminalAt(run, at)) return run;
    this.#parts.write({ kind: 'agent-run-ended', id: run.id, how, at });
    const ended = this.#replace(run, { how, at });
    this.advance();
    this.#wake();
    return ended;
  }

  #replace(run: Run, ended: Run['ended']): Run {
    const next = { ...run, ended };
    // The run keeps its position in the map, because the map has the order of the list.
    this.#runs.set(run.id, next);
    if (this.#inProgress.delete(run)) this.#inProgress.add(next);
    return next;
  }

  #remove(id: string): void {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    // The run is not charged again: the purchase log already has its charge.
    if (run) this.#inProgress.delete(run);
  }

  #wake(): void {
    const wake = this.#wakeNext;
    this.#wakeNext = new AbortController();
    wake.abort();
  }
}
