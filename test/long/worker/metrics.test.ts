import { createServer } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { freePort } from '../../../src/worker/temporal-server/server-files.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { listen } from '../../support/sandbox/listen.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

/** Samples of our own metrics, by name and labels as Prometheus writes them. */
async function scrape(address: string): Promise<{ readonly text: string; readonly samples: Map<string, number> }> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('searchflow_'));
  return {
    text,
    samples: new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))])),
  };
}

// Each test has workers of its own and mostly waits for the next reading of a gauge, so the tests run in parallel.
it.concurrent('requests, costs, losses and waits of a worker are readable by Prometheus, without key or URL', async ({
  expect,
  onTestFinished,
}) => {
  const sandbox = await startSandbox({
    failureRate: 0,
    textBytes: 100,
    faults: [
      { when: { nth: 2 }, do: { kind: 'status', status: 429, retryAfter: '1' } },
      { when: { nth: 4 }, do: { kind: 'reset', moment: 'after' } },
    ],
  });
  const address = `127.0.0.1:${await freePort()}`;
  const env = { SEARCHFLOW_METRICS: address };
  const commands = commandFolder(sandbox, { key: 'canary-of-the-metrics', temporal, env, atEnd: onTestFinished });
  const { folder } = commands;
  folder.write(plainRows(100));
  const start = (name: string, taskQueue: string, args = ['worker', '--qps', '20']) =>
    commands.start(args, { SEARCHFLOW_STATE_DIR: join(folder.dir, name), SEARCHFLOW_TASK_QUEUE: taskQueue });
  start('a', folder.dir);
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
  // A command in the container of a worker has its environment.
  const command = start('c', 'third', ['enrich', folder.input, '--into', 'c.duckdb', '--qps', '5', '--yes']);
  expect(await command.ended, command.err()).toBe(0);
  expect(command.err()).toContain(`This command serves no metrics: another process uses ${address}`);
});

/** A collector, which keeps the paths, the headers and the texts that it gets. */
async function startCollector() {
  const got: { readonly path: string; readonly token: unknown; readonly text: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('latin1');
    got.push({ path: request.url ?? '', token: request.headers['x-token'], text });
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  const url = await listen(server);
  return { got, url, close: () => server.close() };
}

it.concurrent('a worker sends its metrics by OTLP', async ({ expect, onTestFinished }) => {
  const [sandbox, collector] = await Promise.all([startSandbox({ failureRate: 0, textBytes: 100 }), startCollector()]);
  onTestFinished(() => void collector.close());
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  };
  const commands = { key: 'canary-of-the-metrics', temporal, env, atEnd: onTestFinished };
  const { folder, start } = commandFolder(sandbox, commands);
  folder.write(plainRows(30));
  const worker = start(['worker', '--qps', '20']);
  const job = await Job.start(temporal, folder.dir, folder);
  await job.result();
  await expect
    .poll(() => collector.got.some(({ text }) => text.includes('searchflow_spent_microdollars')), { timeout: 20_000 })
    .toBe(true);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(143);
  expect(collector.got.map(({ path, token }) => `${path} ${token}`)).toContain('/v1/metrics a');

  expect(`${collector.got.map(({ text }) => text)}`).not.toMatch(/canary|site-\d+\.example/);
});
