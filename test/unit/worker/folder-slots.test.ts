import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { RUN_OVERDUE } from '../../../src/core/purchase/journal.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { FolderStore } from '../../../src/worker/store/open-store.js';
import { folderOfTest } from '../../support/files/folders.js';
import { intent, keyOf, outcome } from '../../support/store/journal-contract.js';

/** A folder whose last worker has left runs at the service. Returns the store of the folder's sandbox. */
async function afterRuns() {
  const stateDir = folderOfTest();
  const open = (team: string) => FileJournal.open(join(stateDir, 'journal'), { writes: true, team });
  const buy = async (journal: FileJournal, number: number, operation: string, run: string | null) => {
    await journal.claim([keyOf(number)], 'a');
    const id = await journal.intend({ ...intent('a', [number]), operation });
    await journal.note(id, 'a', { run });
    return id;
  };
  const journal = await open('sandbox');
  const ended = await buy(journal, 1, 'agent', 'ended');
  await journal.land(ended, { requestId: null, fetchedAt: Date.now(), units: [outcome(1)] });
  await buy(journal, 2, 'agent', 'in progress');
  await buy(journal, 3, 'agent', 'overdue');
  const overdue = { ...outcome(3), status: 'error' as const, errorTag: RUN_OVERDUE };
  await journal.recordOutcomes('a', 'job/gen/000000', 'agent', [overdue]);
  await buy(journal, 4, 'agent', null);
  await buy(journal, 5, 'research', 'a task');
  await journal.close();
  const others = await open('another team');
  await buy(others, 6, 'agent', 'of others');
  await others.close();
  const config = { origin: 'sandbox', stateDir, apiKey: null, team: null, agentSlots: 2, rate: { qps: 10 } };
  const store = new FolderStore({ ...config, say: () => undefined } as unknown as RuntimeConfig);
  onTestFinished(() => store.close());
  return store;
}

const held = [
  { owner: keyOf(2), runId: 'in progress', takenAt: expect.any(Number) },
  { owner: keyOf(3), runId: 'overdue', takenAt: expect.any(Number) },
];

it('the slots of a folder count the runs that its ended worker has left running', async () => {
  const store = await afterRuns();
  expect(await store.slots()).toEqual({ limit: 2, held: 2, elsewhere: 0, leftRunning: 1, waiting: 0 });
});

it('the next worker of a folder holds the slots of runs that have not ended', async () => {
  const store = await afterRuns();
  const worker = await store.work();
  onTestFinished(() => worker?.close());
  expect(await worker?.slots.owners()).toEqual(held);
  const waiting = worker?.slots.take(keyOf(9));
  expect(await store.slots()).toEqual({ limit: 2, held: 2, elsewhere: 0, leftRunning: 1, waiting: 1 });
  await worker?.slots.free(keyOf(3));
  await waiting;
  expect((await store.slots()).leftRunning).toBe(0);
});
