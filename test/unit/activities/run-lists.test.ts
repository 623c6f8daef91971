import { expect, it, onTestFinished, vi } from 'vitest';
import { agentRunKind } from '../../../src/activities/runs/run-follower.js';
import { RecentRuns } from '../../../src/activities/runs/runs.js';
import { RunsInProgress, SlotKeeper } from '../../../src/activities/runs/slot-keeper.js';
import { listAgentRunsEndpoint } from '../../../src/api/endpoints/agent-runs.js';
import { RUN_OVERDUE } from '../../../src/core/purchase/journal.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { MemorySlots } from '../../../src/store/limiter/memory-slots.js';
import { minutesAgo, openRunList, type Run } from '../../support/activities/run-list.js';
import { folderOfTest } from '../../support/files/folders.js';
import { intent, keyOf, outcome } from '../../support/store/journal-contract.js';

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

const none = new Set<string | null>();

async function open(runs: readonly Run[]) {
  const { asked, ...deps } = await openRunList(runs);
  return { asked, seen: new RunsInProgress(deps, agentRunKind) };
}

const ended = (count: number, minutes: number): Run[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `ended_${minutes}_${index}`,
    status: 'completed',
    createdAt: minutesAgo(minutes),
  }));

it('the first read finds a run of two hours after five hundred ended ones', async () => {
  const long = { id: 'long', status: 'running', createdAt: minutesAgo(120) };
  const { seen } = await open([...ended(500, 1), long, ...ended(2000, 600)]);
  expect((await seen.read(none))?.inProgress).toEqual(['long']);
});

it('the list of runs in progress reads only back to the longest possible duration of a run', async () => {
  const { seen, asked } = await open([...ended(50, 1), ...ended(2000, 600)]);
  await seen.read(none);
  expect(asked).toHaveLength(1);
});

it('the list of runs in progress keeps a run that newer ones pushed off the pages until it has ended', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const long = { id: 'long', status: 'running', createdAt: minutesAgo(1) };
  const runs = [long, ...ended(500, 600)];
  const { seen, asked } = await open(runs);
  expect((await seen.read(none))?.inProgress).toEqual(['long']);
  runs.unshift(...ended(600, 0.1));
  asked.splice(0);
  expect((await seen.read(none))?.inProgress).toEqual(['long']);
  expect(asked).not.toContain('/agent/runs/long');
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(none))?.inProgress).toEqual(['long']);
  expect(asked).toContain('/agent/runs/long');
  long.status = 'completed';
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(none))?.inProgress).toEqual([]);
  asked.splice(0);
  await seen.read(none);
  expect(asked).not.toContain('/agent/runs/long');
});

it('the list of runs in progress does not poll runs whose slot is held here', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const runs = [{ id: 'ours', status: 'running', createdAt: minutesAgo(1) }];
  const { seen, asked } = await open(runs);
  await seen.read(new Set(['ours']));
  runs.unshift(...ended(600, 0.1));
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(new Set(['ours'])))?.inProgress).toEqual([]);
  expect(asked).not.toContain('/agent/runs/ours');
});

it('the slot keeper frees only slots of units that are not being bought and whose run has ended or never existed', async () => {
  const dir = folderOfTest();
  const journal = await FileJournal.open(dir, { writes: true });
  onTestFinished(() => journal.close());
  const run = (id: string, status: string) => ({ id, status, createdAt: minutesAgo(2) });
  const { transport, limiter } = await openRunList([run('going', 'running'), run('over', 'completed')]);
  const slots = new MemorySlots(50);
  const [ended, going, gone, never, served, noted, young] = [1, 2, 3, 4, 5, 6, 7].map(keyOf) as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
  const hold = async (owner: string, runId: string | null) => {
    await slots.take(owner);
    if (runId !== null) await slots.name(owner, runId);
  };
  await hold(ended, 'over');
  await hold(going, 'going');
  await hold(gone, 'unheard-of');
  await hold(never, null);
  await hold(served, 'over');
  await hold(noted, null);
  vi.useRealTimers();
  await hold(young, 'over');
  await journal.claim([served], 'somebody');
  // The start of this run was answered, but the process died before it wrote the run's id into the slot.
  await journal.claim([noted], 'dead');
  await journal.note(await journal.intend(intent('dead', [6])), 'dead', { run: 'going' });
  await journal.release('dead');
  // The attempt that followed this run has left it running.
  await journal.claim([going], 'earlier');
  const overdue = { ...outcome(2), status: 'error' as const, errorTag: RUN_OVERDUE };
  await journal.recordOutcomes('earlier', 'job/gen/000000', 'agent', [overdue]);
  const keeper = new SlotKeeper({ transport, limiter, slots, journal }, agentRunKind);
  await keeper.take('new', new AbortController().signal);
  const held = async () => (await slots.owners()).map(({ owner, runId }) => [owner, runId]);
  await expect.poll(held).toEqual([
    [going, 'going'],
    [served, 'over'],
    [noted, 'going'],
    [young, 'over'],
    ['new', null],
  ]);
  expect(keeper.inUse).toMatchObject({ limit: 50, leftRunning: 1 });
  // The check has released its claims, so another owner can claim all units.
  const { mine, theirs } = await journal.claim([ended, never, served], 'another');
  expect([mine.length, theirs]).toEqual([2, [served]]);
});
