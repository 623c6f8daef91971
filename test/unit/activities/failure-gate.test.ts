import { expect, it, vi } from 'vitest';
import type { Bought, FailedLimit, FailureStop, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { good, setting, success, units } from '../../support/activities/purchase-setting.js';

const stop = ({ since = 1, ...limit }: Partial<FailedLimit & FailureStop> = {}): FailureStop => ({
  ...{ job: 'job', since, weight: 1 },
  limit: { percent: 20, after: 10, answered: 0, isEmpty: () => false, ...limit },
});
const failed = (batch: readonly Unit[]): Bought => ({
  ...success(batch, 0),
  units: success(batch).units.map((one) => ({ ...one, status: 'error', errorTag: 'NO_CONTENT' })),
});
/** The first write of a journal may take a second on a busy machine. */
const soon = { timeout: 4000 };
/** A purchase of slice `slice` with 20 units, one in each request. */
const slice = (slice: number, failureStop: FailureStop) => ({
  ...{ segment: `job/gen/00000${slice}`, units: units(20, 20 * slice), unitsPerRequest: 1, failureStop },
});

it('sends only the first requests until their answers show that few fail', async () => {
  const s = await setting();
  const answers: (() => void)[] = [];
  const send = (batch: readonly Unit[]) =>
    new Promise<Bought>((resolve) => answers.push(() => resolve(success(batch))));
  const ended = s.buy(send, slice(0, stop()));
  await vi.waitFor(() => expect(answers).toHaveLength(10), soon);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(answers).toHaveLength(10);
  // One answer is late: even as a failure it would not reach the limit, so that no request waits for it.
  for (const answer of answers.slice(1)) answer();
  await vi.waitFor(() => expect(answers).toHaveLength(20), soon);
  for (const answer of answers) answer();
  expect(await ended).toMatchObject({ complete: true, answers: { answered: 20, failed: 0, tags: {} } });
});

it('counts the answers of all slices of a job, and sends nothing more once too many failed', async () => {
  const s = await setting();
  const send = async (batch: readonly Unit[]) => failed(batch);
  const first = await s.buy(send, { ...slice(0, stop()), units: units(6) });
  expect(first).toMatchObject({ complete: true, answers: { answered: 6, failed: 6, tags: { NO_CONTENT: 6 } } });
  const second = await s.buy(send, slice(1, stop()));
  const tooManyFailed = { answered: 10, failed: 10, tags: { NO_CONTENT: 10 } };
  expect(second).toMatchObject({ complete: false, answers: { answered: 4 }, tooManyFailed, waitMs: 0 });
  expect(s.sent).toHaveLength(10);
  // Another slice of the same time sends nothing. After a resume, the answers are counted again.
  expect(await s.buy(send, slice(2, stop()))).toMatchObject({
    answers: { answered: 0 },
    tooManyFailed,
  });
  expect(s.sent).toHaveLength(10);
  const resumed = await s.buy(send, slice(2, stop({ since: 2 })));
  expect(resumed).toMatchObject({ complete: false, tooManyFailed });
  expect(s.sent).toHaveLength(20);
});

it('does not wait for first answers that another process has got', async () => {
  const s = await setting();
  const answers: (() => void)[] = [];
  const send = (batch: readonly Unit[]) =>
    new Promise<Bought>((resolve) => answers.push(() => resolve(success(batch))));
  const failureStop = { ...stop({ answered: 10 }), isProven: true };
  const ended = s.buy(send, slice(0, failureStop));
  await vi.waitFor(() => expect(answers).toHaveLength(20), soon);
  for (const answer of answers) answer();
  expect(await ended).toMatchObject({ complete: true });
});

it('counts empty answers as failed, although their rows are successes', async () => {
  const s = await setting();
  const failureStop = stop({ isEmpty: () => true, percent: 100 });
  const receipt = await s.buy(good, slice(0, failureStop));
  const answers = { answered: 10, failed: 10, tags: { EMPTY_ANSWER: 10 } };
  expect(receipt).toMatchObject({ failed: 0, bought: 10, answers, tooManyFailed: answers });
});
