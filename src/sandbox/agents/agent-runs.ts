import { z } from 'zod';
import { millisOf } from '../base/options.js';
import { Refusal } from '../base/refusal.js';
import { countBy, Runs } from '../base/runs.js';
import { fraction, hashText, type NextId } from '../base/sentences.js';
import type { World } from '../world.js';
import {
  isMetered,
  isTerminalAt,
  type Run,
  type RunInput,
  type StoredRun,
  statusAt,
  storedRunSchema,
  usageOf,
} from './run-record.js';

const endedSchema = z.object({ id: z.string(), how: z.enum(['cancelled', 'stopped']), at: z.number() });

/** The agent runs of the team, by id and in order. There is no timer: a run's state follows from the current time. */
export class AgentRuns {
  readonly #world: World;
  readonly #nextId: NextId;
  readonly #runs = new Runs<Run>();
  /** Serial numbers of all runs ever created, by id: a cursor may name a deleted run. */
  readonly #serials = new Map<string, number>();
  readonly #keep: (run: StoredRun) => void;
  readonly #keepEnd: (end: z.infer<typeof endedSchema>) => void;
  readonly #keepDeletion: (id: string) => void;
  #wakeNext = new AbortController();

  constructor(world: World) {
    this.#world = world;
    this.#nextId = world.ids('agent');
    this.#keep = world.ledger.facts('agent-run', storedRunSchema, (run) => {
      this.#serials.set(run.id, this.#serials.size + 1);
      this.#runs.put({ ...run, ended: null });
    });
    this.#keepEnd = world.ledger.facts('agent-run-ended', endedSchema, ({ id, how, at }) => {
      this.#runs.put({ ...this.get(id), ended: { how, at } });
    });
    this.#keepDeletion = world.ledger.facts('agent-run-deleted', z.string(), (id) => this.#runs.delete(id));
  }

  /** Runs, the newest first. With a cursor, only the runs after the cursor; throws if the cursor names no run. */
  newestFirst(cursor?: string): Run[] {
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : this.#serials.get(cursor);
    if (before === undefined) throw new Refusal(400, 'INVALID_REQUEST', 'Invalid query: cursor: no such run');
    return this.#runs.newestFirst().filter(({ id }) => (this.#serials.get(id) as number) < before);
  }

  find(id: string): Run | undefined {
    return this.#runs.get(id);
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
    const { ledger, now, options } = this.#world;
    const { maxInProgress, queuedMs, durationMs } = options.agentRuns;
    ledger.checkCredits();
    this.advance();
    if (this.#runs.open().length >= maxInProgress) {
      const why = `${maxInProgress} agent runs are in progress, which is the maximum`;
      throw new Refusal(429, 'CONCURRENCY_LIMIT_REACHED', why);
    }
    const id = `agent_run_${this.#nextId()}`;
    const hash = hashText(id, options.seed);
    const createdAt = now();
    const startsAt = createdAt + millisOf(queuedMs, fraction(hash, 121));
    const endsAt = startsAt + millisOf(durationMs, fraction(hash, 122));
    const run = { id, createdAt, startsAt, endsAt, ...this.#outcome(hash, request), request };
    this.#keep(run);
    return this.#runs.started(id);
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
    this.cancel(id);
    this.advance();
    this.#keepDeletion(id);
  }

  /** Charges the runs that have ended since the last call, and releases their slots. */
  advance(): void {
    const { ledger, now, options } = this.#world;
    const time = now();
    this.#runs.settle(
      (run) => isTerminalAt(run, time),
      (run) => ledger.charge('createAgentRun', run.id, usageOf(run, options.seed).micros),
    );
  }

  /** A signal that is aborted when a caller ends a run. Code that waits for the end of a run then checks again. */
  nextWake(): AbortSignal {
    return this.#wakeNext.signal;
  }

  view() {
    this.advance();
    const now = this.#world.now();
    return {
      inProgress: this.#runs.open().length,
      /** Highest number of runs in progress so far. */
      maxInProgress: this.#runs.maxOpen,
      byStatus: countBy(
        this.#runs
          .newestFirst()
          .reverse()
          .map((run) => statusAt(run, now)),
      ),
    };
  }

  reset(): void {
    this.#runs.clear();
    this.#serials.clear();
    this.#wake();
  }

  #outcome(hash: number, request: RunInput): { status: string; stopReason: string | null } {
    const { failureRate, budgetRate, unknownStatusRate, unknownStopReasonRate } = this.#world.options.agentRuns;
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
    if (statusAt(run, this.#world.now()) !== 'completed') {
      throw new Refusal(400, 'PREVIOUS_RUN_NOT_COMPLETED', `previousRunId: the agent run ${id} is not completed`);
    }
  }

  #end(run: Run, how: 'cancelled' | 'stopped'): Run {
    const at = this.#world.now();
    if (isTerminalAt(run, at)) return run;
    this.#keepEnd({ id: run.id, how, at });
    this.advance();
    this.#wake();
    return this.get(run.id);
  }

  #wake(): void {
    const wake = this.#wakeNext;
    this.#wakeNext = new AbortController();
    wake.abort();
  }
}
