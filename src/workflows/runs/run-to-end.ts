import { defineQuery, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { queryNames } from '../../core/rows/job-names.js';
import type { RunProgress, RunSnapshot, RunStepResult } from '../../core/workflow-result-schemas.js';

const progressQuery = defineQuery<RunProgress>(queryNames.progress);

/**
 * How long an activity follows a run before it returns a snapshot, in ms. The first slice is short. Later slices are long, because each
 * adds six events to the history.
 */
const SLICES_MS = [5000, 60_000] as const;
const SLICE_MS = 15 * 60_000;

/** The state of a run, for the query and for Temporal's web UI. */
export class RunView {
  #snapshot: RunSnapshot | null = null;
  #polledAt: number | null = null;
  #phase: RunProgress['phase'] = 'running';
  readonly #label: string;

  constructor(label: string) {
    this.#label = label;
    setHandler(progressQuery, () => this.progress());
  }

  get snapshot(): RunSnapshot | null {
    return this.#snapshot;
  }

  progress(): RunProgress {
    const startedAt = this.#snapshot?.startedAt ?? null;
    return {
      ...{ runId: null, status: null, startedAt, events: null, costDollars: null, waitingFor: null },
      ...this.#snapshot,
      phase: this.#phase,
      // The age is never negative, although the clock of the service may be ahead of ours.
      ageMs: Math.max(0, Date.now() - (startedAt ?? workflowInfo().startTime.getTime())),
      polledAt: this.#polledAt,
    };
  }

  saw(snapshot: RunSnapshot): void {
    this.#snapshot = snapshot;
    this.#polledAt = Date.now();
    this.#show();
  }

  is(phase: RunProgress['phase']): void {
    this.#phase = phase;
    this.#show();
  }

  #show(): void {
    const { runId, status, events, costDollars } = this.#snapshot ?? {};
    setCurrentDetails(
      [
        `**${this.#label}** ${runId ?? ''}: ${this.#phase === 'running' ? (status ?? 'starting') : this.#phase}`,
        ...(typeof events === 'number' ? [`${events} events`] : []),
        ...(typeof costDollars === 'number' ? [`$${costDollars} so far`] : []),
      ].join('\n\n'),
    );
  }
}

/** Follows a run, activity after activity, until it has ended. Returns null if `until` passes before the run has ended. */
export async function runToEnd<R>(
  view: RunView,
  step: (sliceMs: number) => Promise<RunStepResult<R>>,
  until: (snapshot: RunSnapshot | null) => number | null = () => null,
): Promise<R | null> {
  for (let nth = 0; ; nth++) {
    const end = until(view.snapshot);
    const left = end === null ? Number.POSITIVE_INFINITY : end - Date.now();
    if (left <= 0) return null;
    const { ended, look } = await step(Math.ceil(Math.min(left, SLICES_MS[nth] ?? SLICE_MS)));
    if (look === null) {
      view.is('done');
      return ended;
    }
    view.saw(look);
  }
}
