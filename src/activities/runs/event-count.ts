import { listAgentRunEventsEndpoint } from '../../api/endpoints/agent-runs.js';
import { readPage } from '../../core/events/walk.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';

const EVERY_MS = 2000;
const PAGE = 100;

/** Counts the stored events of a run in progress. A service without a list of events is asked only once. */
export class EventCount {
  /** The number of events; null: unknown. */
  count: number | null = null;
  readonly #deps: SendDeps;
  #cursor: string | undefined;
  #seen = new Set<string>();
  #next = 0;
  #off = false;

  constructor(deps: SendDeps) {
    this.#deps = deps;
  }

  /** Reads the number of events if a poll is due. Never rejects, because the run does not depend on the number. */
  async poll(runId: string): Promise<void> {
    if (this.#off || performance.now() < this.#next) return;
    this.#next = Number.POSITIVE_INFINITY;
    try {
      const input = { id: runId, limit: PAGE, cursor: this.#cursor };
      const page = readPage((await callInTurn(this.#deps, listAgentRunEventsEndpoint, input)).data);
      for (const { id } of page?.items ?? []) this.#seen.add(String(id));
      this.count = this.#seen.size;
      this.#cursor = page?.cursor ?? this.#cursor;
    } catch (error) {
      this.#off = isApiError(error) && !error.verdict.retry;
    } finally {
      this.#next = performance.now() + EVERY_MS;
    }
  }
}
