import type { RunSnapshot } from './workflow-result-schemas.js';

/** Input of the activities that follow a run for a while. */
export interface RunStep<Q, C> {
  readonly request: Q;
  readonly call: C;
  /** Start of the workflow in Unix ms. Answers that landed after this time belong to the workflow. */
  readonly askedAt: number;
  /** The activity ends after this time, in ms. */
  readonly sliceMs?: number;
  /** The activity ends when the run has this age, in ms. */
  readonly untilAgeMs?: number;
}

/** The result of following a run in one activity. `look` is the last snapshot of the run; recorded histories have this old name. */
export type RunStepResult<R> =
  | { readonly ended: R; readonly look: null }
  | { readonly ended: null; readonly look: RunSnapshot };
