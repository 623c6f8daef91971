import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { expect, it } from 'vitest';
import { History } from '../../../scripts/history-proto.mjs';
import { codePath } from '../../support/jobs/host.js';
import { silence } from '../../support/temporal.js';

silence();

interface RecordedHistory {
  readonly events: {
    readonly activityTaskScheduledEventAttributes?: { readonly activityType?: { name?: string } } | null;
    readonly workflowExecutionStartedEventAttributes?: {
      readonly input: { readonly payloads: { data: Uint8Array }[] };
    } | null;
  }[];
}

const folder = fileURLToPath(new URL('../../fixtures/histories/', import.meta.url));
const files = readdirSync(folder).sort();

const decode = (file: string) => History.decode(readFileSync(folder + file)) as RecordedHistory;
const replay = (history: unknown) =>
  Worker.runReplayHistory({ workflowBundle: { codePath } }, history, 'enrich-replayed');

it.each(files)('fault 35: the recorded history %s replays', async (file) => {
  const history = decode(file);
  expect(history.events.length).toBeGreaterThan(10);
  await replay(history);
});

it.each(files)('the recorded history %s names no folder of the code that recorded it', (file) => {
  expect(readFileSync(folder + file, 'latin1')).not.toMatch(/node_modules|\/dist\//);
});

it.each(files)('the history %s continues with a wrong input that was accepted at its start', async (file) => {
  const history = decode(file);
  const [payload] = history.events[0]?.workflowExecutionStartedEventAttributes?.input.payloads ?? [];
  const input = JSON.parse(Buffer.from(payload?.data ?? '').toString());
  Object.assign(payload ?? {}, { data: Buffer.from(JSON.stringify({ ...input, max_cost_dollars: 1 })) });
  await replay(history);
});

it('fault 35: a history that the workflow would not have made is detected', async () => {
  const history = decode(files.find((file) => file.includes('-done-')) as string);
  const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes);
  const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
  expect(type).toMatchObject({ name: 'stageInput' });
  Object.assign(type ?? {}, { name: 'anotherActivity' });
  await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
});
