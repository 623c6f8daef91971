import { expect, it } from 'vitest';
import { agentRunKind } from '../../../src/activities/runs/run-kinds.js';
import { RecentRuns } from '../../../src/activities/runs/runs.js';
import { listAgentRunsEndpoint } from '../../../src/api/endpoints/agent-runs.js';
import { minutesAgo, openRunList, type Run } from '../../support/activities/run-list.js';

const HOUR = 60;

it.each([
  ['behind', -HOUR],
  ['ahead of', HOUR],
])(
  'the list of recent runs finds a run of two minutes ago after 250 newer ones if the clock of the service is %s ours',
  async (_, minutes) => {
    const at = (ago: number) => minutesAgo(ago - minutes);
    const newer = Array.from(
      { length: 250 },
      (_one, index): Run => ({ id: `new_${index}`, status: 'running', createdAt: at(0) }),
    );
    const lost = { id: 'lost', status: 'running', createdAt: at(2) };
    const older = Array.from(
      { length: 500 },
      (_one, index): Run => ({ id: `old_${index}`, status: 'completed', createdAt: at(600) }),
    );
    const { asked, ...deps } = await openRunList([...newer, lost, ...older], minutes * 60_000);
    const recent = new RecentRuns(deps, agentRunKind, listAgentRunsEndpoint);
    const { runs, whole, clockAheadMs } = await recent.since(Date.now() - 5 * 60_000, new AbortController().signal);
    expect(runs.map(({ id }) => id)).toContain('lost');
    expect(whole).toBe(true);
    expect(Math.abs(clockAheadMs - minutes * 60_000)).toBeLessThan(5000);
    // The list is read only until runs are older than the given time.
    expect(asked).toHaveLength(3);
  },
);

it('the list of recent runs is read once for callers that ask together, back to the earliest of their times', async () => {
  const newer = Array.from(
    { length: 150 },
    (_one, index): Run => ({ id: `new_${index}`, status: 'running', createdAt: minutesAgo(2) }),
  );
  const lost = { id: 'lost', status: 'running', createdAt: minutesAgo(10) };
  const older = { id: 'old', status: 'completed', createdAt: minutesAgo(60) };
  const { asked, ...deps } = await openRunList([...newer, lost, older], 0);
  const recent = new RecentRuns(deps, agentRunKind, listAgentRunsEndpoint);
  const { signal } = new AbortController();
  const since = (minutes: number) => recent.since(Date.now() - minutes * 60_000, signal);
  const [first, second] = await Promise.all([since(1), since(20)]);
  expect(second.runs.map(({ id }) => id)).toContain('lost');
  expect(first).toBe(second);
  expect(asked).toHaveLength(2);
  // The next caller reads the list again.
  expect(await since(1)).not.toBe(first);
  expect(asked).toHaveLength(3);
});
