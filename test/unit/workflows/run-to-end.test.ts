import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunSnapshot, RunStepResult } from '../../../src/core/workflow-result-schemas.js';
import { type RunView, runToEnd } from '../../../src/workflows/runs.js';

const MINUTE = 60_000;
const began = Date.UTC(2026, 0, 1);
beforeEach(() => {
  vi.useFakeTimers({ now: began });
});
afterEach(() => void vi.useRealTimers());

/** A view of a run without a workflow. */
function viewOf() {
  const phases: string[] = [];
  const view = {
    snapshot: null as RunSnapshot | null,
    saw(snapshot: RunSnapshot) {
      view.snapshot = snapshot;
    },
    is: (phase: string) => void phases.push(phase),
  };
  return { view: view as unknown as RunView, phases };
}

describe('a run that a workflow follows', () => {
  const look = { runId: 'run 1', startedAt: began } as RunSnapshot;

  it('is followed for seconds, then for a minute, then for a quarter of an hour at a time, until it has ended', async () => {
    const { view, phases } = viewOf();
    const asked: number[] = [];
    const step = async (sliceMs: number): Promise<RunStepResult<string>> => {
      asked.push(sliceMs);
      return asked.length < 5 ? ({ ended: null, look } as never) : ({ ended: 'result', look: null } as never);
    };
    expect(await runToEnd(view, step)).toBe('result');
    expect(asked).toEqual([5000, MINUTE, 15 * MINUTE, 15 * MINUTE, 15 * MINUTE]);
    expect([view.snapshot, phases]).toEqual([look, ['done']]);
  });

  it('is left when its time is up, counted from the start that the service reports', async () => {
    const { view, phases } = viewOf();
    const asked: number[] = [];
    const step = async (sliceMs: number): Promise<RunStepResult<string>> => {
      asked.push(sliceMs);
      vi.setSystemTime(Date.now() + sliceMs);
      return { ended: null, look } as never;
    };
    const until = (snapshot: RunSnapshot | null) => (snapshot?.startedAt ?? began + MINUTE) + 40_000.5;
    expect(await runToEnd(view, step, until)).toBeNull();
    expect(asked).toEqual([5000, 35_001]);
    expect(phases).toEqual([]);
  });

  it('takes at most 60 events of history in an hour', async () => {
    let [steps, elapsed] = [0, 0];
    await runToEnd(viewOf().view, async (sliceMs) => {
      steps++;
      elapsed += sliceMs;
      return (elapsed >= 60 * MINUTE ? { ended: 'done', look: null } : { ended: null, look }) as never;
    });
    // Three events for an activity, three for the workflow task after it, and five for the first task and the end.
    expect(steps * 6 + 5).toBeLessThanOrEqual(60);
  });
});
