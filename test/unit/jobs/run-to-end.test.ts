import { expect, it } from 'vitest';
import type { RunSnapshot } from '../../../src/core/workflow-result-schemas.js';
import { type RunView, runToEnd } from '../../../src/workflows/runs/run-to-end.js';

/** The history has three events for an activity (scheduled, started, completed), and three for the workflow task after it. */
const EVENTS_A_STEP = 6;
/** The events of the workflow's start with its first task, and of its end. */
const EVENTS_AROUND = 5;

const look: RunSnapshot = {
  runId: 'r',
  status: 'running',
  startedAt: 0,
  events: null,
  costDollars: null,
  waitingFor: null,
};
const unseen = { look: null, saw: () => undefined, is: () => undefined } as unknown as RunView;

it('a run of an hour takes at most 60 events of history', async () => {
  let [steps, elapsed] = [0, 0];
  const result = await runToEnd(unseen, async (sliceMs) => {
    steps++;
    elapsed += sliceMs;
    return elapsed >= 3_600_000 ? { ended: 'done', look: null } : { ended: null, look };
  });
  expect(result).toBe('done');
  expect(steps * EVENTS_A_STEP + EVENTS_AROUND).toBeLessThanOrEqual(60);
});
