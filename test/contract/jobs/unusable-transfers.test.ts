import { it } from 'vitest';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import type { Fault } from '../../../src/sandbox/index.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openSetting } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 60_000, interval: 50 };
const answer = { operation: 'answer', template: { query: '{{id}}' } } as const;
const agent = { operation: 'agent', template: { query: '{{id}}' }, options: { effort: 'low' } } as const;
const schema = { type: 'object', properties: { size: { type: 'number' } } };
const shared = {
  ...agent,
  template: { query: 'size' },
  rowsPerRun: 5,
  options: { effort: 'low', outputSchema: schema },
};
const when = { method: 'POST' } as const;
const polls = { method: 'GET', path: '/agent/runs/*' } as const;
const body = (text: string, status = 200): Fault['do'] => ({
  kind: 'body',
  body: text,
  status,
  contentType: 'application/json',
});
const ended = (rows: string) =>
  `{"id":"agent_run_1","status":"completed","output":{"text":"x","structured":{"rows":${rows}}}}`;
const cut = { kind: 'truncate', fraction: 0.5 } as const;

// Each job has a service and a worker of its own and mostly waits, so the tests run in parallel.
it.concurrent.for<readonly [string, Partial<EnrichCsvInput>, Fault, number]>([
  ['answers that break off', answer, { when, do: cut }, 10],
  ['page contents that break off', {}, { when, do: cut }, 2],
  ['answers without a body', answer, { when, do: body('', 204) }, 10],
  ['agent runs whose start has an envelope', agent, { when, do: body('{"data":{"id":"agent_run_1"}}') }, 10],
  ['agent runs whose polls have an envelope', agent, { when: polls, do: body('{"data":{"status":"completed"}}') }, 10],
  ['agent runs whose polls have no status', agent, { when: polls, do: body('{"requestId":"r","data":{}}') }, 10],
  ['agent runs whose polls break off', agent, { when: polls, do: cut }, 10],
  [
    'answers in another form than that of the schema',
    { ...answer, options: { outputSchema: schema } },
    { when, do: body('{"answer":"An answer","citations":[]}') },
    10,
  ],
  [
    'answers that report an error',
    answer,
    { when, do: body('{"error":"overloaded","answer":"error: overloaded"}') },
    10,
  ],
  ['agent runs that are unknown at once', agent, { when: polls, do: { kind: 'status', status: 404 } }, 10],
  [
    'agent runs without an output in the form of the schema',
    { ...agent, options: { effort: 'low', outputSchema: schema } },
    { when: polls, do: body('{"id":"agent_run_1","status":"completed","output":{"text":"x","structured":null}}') },
    10,
  ],
  ['runs for several rows that have none of them', shared, { when: polls, do: body(ended('[]')) }, 2],
  [
    'runs for several rows that have other rows',
    shared,
    { when: polls, do: body(ended('[{"row_id":"x","size":1}]')) },
    2,
  ],
])('a job of %s pauses before it has bought much', async ([, changes, fault, most], { expect, onTestFinished }) => {
  const setting = await openSetting(temporal);
  onTestFinished(() => setting.close());
  const job = await setting.begin(plainRows(200), changes, [fault], onTestFinished);
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('service');
  await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
  expect((await job.progress()).message).toMatch(/^The last \d+ answers have nothing usable: .*searchflow resume \S+$/);
  expect(setting.sandbox.log().filter(({ method }) => method === 'POST').length).toBeLessThanOrEqual(most);
  await job.handle.terminate();
});
