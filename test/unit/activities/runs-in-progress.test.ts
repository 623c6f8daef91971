import { expect, it, vi } from 'vitest';
import { agentRunKind } from '../../../src/activities/runs/run-kinds.js';
import { RunsInProgress } from '../../../src/activities/runs/slot-keeper.js';
import { minutesAgo, openRunList, type Run } from '../../support/activities/run-list.js';

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
