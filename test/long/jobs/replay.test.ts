import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, expect, it } from 'vitest';
import { History } from '../../../scripts/history-proto.mjs';
import { type WorkflowInterface, workflowInterface } from '../../../src/api/workflow-interface.js';
import * as workflows from '../../../src/workflows/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { codePath } from '../../support/jobs/host.js';
import { silence } from '../../support/temporal.js';

silence();

interface RecordedHistory {
  readonly events: {
    readonly activityTaskScheduledEventAttributes?: { readonly activityType?: { name?: string } } | null;
    readonly workflowExecutionStartedEventAttributes?: {
      readonly workflowType: { readonly name: string };
      readonly input: { readonly payloads: { data: Uint8Array }[] };
    } | null;
    readonly workflowExecutionCompletedEventAttributes?: {
      readonly result?: { readonly payloads?: readonly { readonly data: Uint8Array }[] } | null;
    } | null;
  }[];
}

/** Histories of released versions, and those that the current code records here. */
const released = fileURLToPath(new URL('../../fixtures/histories/', import.meta.url));
const recorded = folderOfFile();

const recorder = fileURLToPath(new URL('../../../scripts/record-histories.mjs', import.meta.url));
const run = spawnSync(process.execPath, [recorder, '--to', recorded], { encoding: 'utf8', timeout: 600_000 });
if (run.status !== 0) throw new Error(`The histories were not recorded: ${run.stderr}`);
const folders = [recorded, ...(existsSync(released) ? [released] : [])];
const paths = new Map(
  folders.flatMap((folder) => readdirSync(folder).map((file) => [file, join(folder, file)] as const)),
);
const files = [...paths.keys()].filter((file) => file.endsWith('.bin')).sort();

const read = (file: string) => readFileSync(paths.get(file) as string);
const decode = (file: string) => History.decode(read(file)) as RecordedHistory;

/** Replays histories in one worker. Returns the error of each history, or null. */
async function replay(histories: readonly (readonly [string, RecordedHistory])[]) {
  const named = histories.map(([workflowId, history]) => ({ workflowId, history }));
  const errors = new Map<string, Error | null>();
  for await (const result of Worker.runReplayHistories({ workflowBundle: { codePath } }, named))
    errors.set(result.workflowId, result.error ?? null);
  return errors;
}

function withWrongInput(history: RecordedHistory): RecordedHistory {
  const [payload] = history.events[0]?.workflowExecutionStartedEventAttributes?.input.payloads ?? [];
  const input = JSON.parse(Buffer.from(payload?.data ?? '').toString());
  Object.assign(payload ?? {}, { data: Buffer.from(JSON.stringify({ ...input, max_cost_dollars: 1 })) });
  return history;
}

const wrong = (file: string) => `${file} with a wrong input`;
let errors: ReadonlyMap<string, Error | null>;
beforeAll(async () => {
  errors = await replay(
    files.flatMap((file) => [[file, decode(file)] as const, [wrong(file), withWrongInput(decode(file))] as const]),
  );
});

it.each(files)('fault 35: the recorded history %s replays', (file) => {
  expect(decode(file).events.length).toBeGreaterThan(4);
  expect(errors.get(file)).toBeNull();
});

it.each(files)('the recorded history %s names no folder of the code that recorded it', (file) => {
  expect(read(file).toString('latin1')).not.toMatch(/node_modules|\/dist\//);
});

it.each(files)('the history %s continues with a wrong input that was accepted at its start', (file) => {
  expect(errors.get(wrong(file))).toBeNull();
});

it.each(files)('the result in the history %s has the schema of its workflow, without further fields', (file) => {
  const { events } = decode(file);
  const { name = '' } = events[0]?.workflowExecutionStartedEventAttributes?.workflowType ?? {};
  const payload = events.at(-1)?.workflowExecutionCompletedEventAttributes?.result?.payloads?.[0];
  const { result: schema } = (workflowInterface as Record<string, WorkflowInterface>)[name] as WorkflowInterface;
  // A workflow without a result has a payload without data.
  const result = payload?.data?.length ? JSON.parse(Buffer.from(payload.data).toString()) : null;
  // Zod removes fields that a schema does not have.
  if (result !== null) expect(schema?.parse(result)).toEqual(result);
});

it('every workflow has a recorded history', () => {
  const types = files.map((file) => decode(file).events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name);
  expect([...new Set(types)].sort()).toEqual(Object.keys(workflows).sort());
});

it('fault 35: a history that the workflow would not have made is detected', async () => {
  const history = decode(files.find((file) => file.includes('-done-')) as string);
  const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes);
  const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
  expect(type).toMatchObject({ name: 'stageInput' });
  Object.assign(type ?? {}, { name: 'anotherActivity' });
  expect((await replay([['changed', history]])).get('changed')).toBeInstanceOf(DeterminismViolationError);
});
