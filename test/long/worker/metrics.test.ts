import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { freePort } from '../../../src/worker/temporal-server/free-port.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

/** Samples of our own metrics, by name and labels as Prometheus writes them. */
async function scrape(address: string): Promise<{ readonly text: string; readonly samples: Map<string, number> }> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('searchflow_'));
  return {
    text,
    samples: new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))])),
  };
}

it('requests, costs, losses and waits of a worker are readable by Prometheus, without key or URL', async () => {
  const folder = new Folder();
  folder.write(plainRows(100));
  const sandbox = await startSandbox({
    failureRate: 0,
    textBytes: 100,
    faults: [
      { when: { nth: 2 }, do: { kind: 'status', status: 429, retryAfter: '1' } },
      { when: { nth: 4 }, do: { kind: 'reset', moment: 'after' } },
    ],
  });
  const address = `127.0.0.1:${await freePort()}`;
  const start = (name: string, taskQueue: string) =>
    startCommand(['worker', '--qps', '20'], {
      cwd: folder.dir,
      env: {
        SEARCHFLOW_API_KEY: 'canary-of-the-metrics',
        SEARCHFLOW_BASE_URL: sandbox.url,
        SEARCHFLOW_STATE_DIR: join(folder.dir, name),
        XDG_STATE_HOME: folder.dir,
        SEARCHFLOW_TASK_QUEUE: taskQueue,
        SEARCHFLOW_METRICS: address,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace as string,
      },
    });
  const worker = start('a', folder.dir);
  onTestFinished(async () => {
    worker.child.kill('SIGKILL');
    await worker.ended;
    await sandbox.close();
    folder.remove();
  });
  const job = await Job.start(temporal, folder.dir, folder);
  const { unknownOutcomes, costMicros } = await job.result();

  const contents = 'operation="contents"';
  const { text, samples } = await scrape(address);
  const byOutcome = [...samples].filter(([name]) => name.startsWith('searchflow_requests_total{operation="contents"'));
  expect(byOutcome.reduce((sum, [, count]) => sum + count, 0)).toBe(sandbox.log().length);
  expect(Object.fromEntries(byOutcome)).toEqual({
    [`searchflow_requests_total{${contents},outcome="RateLimited"}`]: 1,
    [`searchflow_requests_total{${contents},outcome="ServiceUnavailable"}`]: 1,
    [`searchflow_requests_total{${contents},outcome="ok"}`]: 10,
  });
  expect(samples.get(`searchflow_rate_limited_total{${contents}}`)).toBe(1);
  expect(samples.get(`searchflow_unknown_outcomes_total{${contents}}`)).toBe(unknownOutcomes);
  expect(samples.get(`searchflow_spent_microdollars_total{${contents}}`)).toBe(costMicros);
  expect(samples.get('searchflow_grant_wait_seconds_count{rate_class="contents"}')).toBeGreaterThanOrEqual(12);
  expect(samples.get('searchflow_rate_units_total{rate_class="contents"}')).toBe(12);
  // Gauges are updated only every few seconds, so the test polls.
  const gauge = async (name: string) => (await scrape(address)).samples.get(name);
  await expect.poll(() => gauge('searchflow_rate_limit{bucket="all"}'), { timeout: 20_000 }).toBe(20);
  expect(await gauge('searchflow_rate_utilisation{bucket="all"}')).toBeGreaterThanOrEqual(0);
  expect(text).not.toMatch(/canary|https?:\/\/site|example/);

  const second = start('b', 'another');
  expect(await second.ended).toBe(2);
  expect(second.err()).toMatch(
    /SEARCHFLOW_METRICS: metrics cannot be served at 127\.0\.0\.1:\d+: Address already in use/,
  );
});
