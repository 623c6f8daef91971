import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

// Inputs of workflows with the right form, but values that the header of the file or the service refuses. Each warehouse is a new file.
const temporal = temporalOfFile();
const sandbox = ofFile(() => startSandbox({ failureRate: 0 }));
ofFile(() => startHost(temporal, folder.config(sandbox.url)));
const folder = Folder.ofFile();
const taskQueue = folder.dir;
const { input } = folder;
const [into, csv] = [join(folder.dir, 'new.duckdb'), join(folder.dir, 'new.csv')];

beforeAll(async () => {
  folder.write(plainRows(4));
  writeFileSync(join(folder.dir, 'empty.csv'), '');
  writeFileSync(join(folder.dir, 'holes.csv'), '');
  truncateSync(join(folder.dir, 'holes.csv'), 1_000_000);
  writeFileSync(join(folder.dir, 'header.csv'), 'name,url\n');
});

const rows = { input, into };
const unknown = { into, types: ['webset.nope'] };
const ever = { from: '2025-01-01T00:00:00Z' };
const filter = { status: 'nope' };
const daily = (workflow: string, of: object) => ({
  schedule: 'daily',
  workflow,
  workflowId: `searchflow-${workflow}`,
  input: of,
});

const cases: readonly (readonly [why: string, workflow: string, input: object])[] = [
  ['an unknown type of events', 'syncEvents', unknown],
  ['an unknown type of events of a range', 'backfillEvents', { ...unknown, ...ever }],
  ['a range that begins later than now', 'backfillEvents', { into, from: '2999-01-01T00:00:00Z' }],
  ['a range that ends before it begins', 'backfillEvents', { into, ...ever, until: '2024-01-01T00:00:00Z' }],
  ['a column of URLs that the file lacks', 'enrichCsv', { ...rows, csv, urlColumn: 'nope' }],
  [
    'a template with a column that the file lacks',
    'enrichCsv',
    { ...rows, operation: 'answer', template: { query: '{{nope}}' } },
  ],
  ['a template that is no template', 'enrichCsv', { ...rows, operation: 'answer', template: { query: '{{name' } }],
  ['a template without a query', 'enrichCsv', { ...rows, operation: 'answer', template: { text: true } }],
  ['options that the service refuses', 'enrichCsv', { ...rows, urlColumn: 'url', options: { text: 5 } }],
  ['a file that is missing', 'enrichCsv', { ...rows, input: join(folder.dir, 'missing.csv') }],
  ['a directory', 'enrichCsv', { ...rows, input: folder.dir }],
  ['a file of holes', 'enrichCsv', { ...rows, input: join(folder.dir, 'holes.csv') }],
  ['a file without a header', 'enrichCsv', { ...rows, input: join(folder.dir, 'empty.csv') }],
  ['a file without rows', 'enrichCsv', { ...rows, input: join(folder.dir, 'header.csv') }],
  ['a delimiter that gives another column', 'enrichCsv', { ...rows, urlColumn: 'url', delimiter: ';' }],
  ['a CSV that is the input', 'enrichCsv', { ...rows, urlColumn: 'url', csv: input }],
  ['a warehouse that is no database', 'enrichCsv', { ...rows, into: input }],
  ['a query with a column that the file lacks', 'runAgentRows', { ...rows, query: 'Who leads {{nope}}?' }],
  ['a filter of monitors', 'exportMonitorRuns', { into, filter }],
  ['a filter of monitors to pause', 'batchMonitors', { action: 'pause', into, filter }],
  ['an unknown type of events in a schedule', 'scheduledJob', daily('syncEvents', unknown)],
  ['a column in a schedule', 'scheduledJob', daily('enrichCsv', { ...rows, urlColumn: 'nope' })],
  ['a filter in a schedule', 'scheduledJob', daily('exportMonitorRuns', { into, filter })],
];

it('nothing is written, and nothing is tried again, where a workflow refuses its input by the header of the file, or because the service refuses it', async () => {
  const before = tree();
  const started = cases.map(async ([why, workflow, args]) => {
    const workflowId = `refused-${workflow}-${why}`;
    const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue, args: [args] });
    const end = await handle.result().then(
      () => 'done',
      (error: Error) => error.name,
    );
    const { events } = await handle.fetchHistory();
    const attempts = events?.flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []) ?? [];
    return [why, workflow, end, Math.max(1, ...attempts)];
  });
  const refused = cases.map(([why, workflow]) => [why, workflow, 'WorkflowFailedError', 1]);
  expect(await Promise.all(started)).toEqual(refused);
  expect(tree()).toEqual(before);
});

/** Names of all files and folders below the worker's folder. */
const tree = () => readdirSync(folder.dir, { recursive: true, encoding: 'utf8' }).sort();
