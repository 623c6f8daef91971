import { randomUUID } from 'node:crypto';
import { beforeEach, expect, inject, it } from 'vitest';
import { settingOfFile } from '../../support/jobs/setting.js';

const gone = 'https://gone.example/';
const { temporal, setting, sandbox } = settingOfFile({
  sandbox: { textBytes: 20_000, failures: { [gone]: 'CRAWL_NOT_FOUND' } },
  worker: { workflowBundle: { codePath: inject('teamWorkflows') } },
});
beforeEach(() => {
  sandbox.reset();
  sandbox.setFaults([]);
});

/** Starts a workflow that makes one call. */
const start = (...args: unknown[]) =>
  temporal.client.workflow.start('contentsOnce', {
    workflowId: randomUUID(),
    taskQueue: setting.config.taskQueue,
    args,
  });
const call = async (...args: Parameters<typeof start>): Promise<unknown> => (await start(...args)).result();

/** Number of URLs so far: no two tests use the same URL. */
let used = 0;
const freshUrls = (count: number) => Array.from({ length: count }, () => `https://page-${++used}.example/`);

it('getContents returns pages and a status for each URL, and equal URLs are bought once', async () => {
  const [url] = freshUrls(1);
  const result = await call({ urls: [url, gone, url], text: true });
  expect(result).toMatchObject({
    data: {
      results: [{ url, text: expect.any(String) }],
      statuses: [
        { id: url, status: 'success' },
        { id: gone, status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } },
      ],
    },
    requests: [{ requestId: expect.any(String), costDollars: 0.001, bought: true }],
    costDollars: 0.001,
  });
  expect(sandbox.bill()).toMatchObject({ requests: 1, units: 1 });
});

it('a result above 1 MiB is returned as a reference to the landed answer, with its size and beginning', async () => {
  const urls = freshUrls(60);
  const result = (await call({ urls, text: true })) as {
    landed: string[];
    bytes: number;
    preview: string;
  };
  expect(result.bytes).toBeGreaterThan(1024 * 1024);
  expect(result.preview).toMatch(/^\{"results":\[\{/);
  expect(JSON.stringify(result).length).toBeLessThan(8000);
  const records = await setting.host().parts.deps.journal.read(result.landed);
  expect(result.landed.map((key) => records.get(key)?.unit)).toEqual(urls);
});

it('a cancelled call lets requests in flight land, and the next call gets them for free', async () => {
  sandbox.setFaults([{ when: { nth: 1 }, do: { kind: 'stall', moment: 'headers', ms: 1500 } }]);
  const urls = freshUrls(2);
  const { journal } = setting.host().parts.deps;
  const before = await journal.totals('calls/');
  const handle = await start({ urls });
  await expect.poll(() => sandbox.log().length, { timeout: 10_000, interval: 10 }).toBe(1);
  await handle.cancel();
  await handle.result().catch(() => undefined);
  const after = await journal.totals('calls/');
  expect(after).toMatchObject({ unitsLanded: before.unitsLanded + 2, openMicros: 0, unknown: [] });
  expect(await call({ urls })).toMatchObject({ requests: [{ bought: false }] });
  expect(sandbox.bill().requests).toBe(1);
});
