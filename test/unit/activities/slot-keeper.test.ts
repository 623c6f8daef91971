import { expect, it, onTestFinished, vi } from 'vitest';
import { agentRunKind } from '../../../src/activities/runs/run-kinds.js';
import { SlotKeeper } from '../../../src/activities/runs/slot-keeper.js';
import { RUN_OVERDUE } from '../../../src/core/purchase/journal.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { MemorySlots } from '../../../src/store/limiter/memory-slots.js';
import { minutesAgo, openRunList } from '../../support/activities/run-list.js';
import { folderOfTest } from '../../support/files/folders.js';
import { intent, keyOf, outcome } from '../../support/store/journal-contract.js';

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
