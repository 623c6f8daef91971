import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, type RawServer, rawServer } from '../../support/api/raw-server.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { type Host, Job, startHost } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const odd = { nested: [1, null, 0, '', { ü: '\u0000' }], 'a b': false };

const temporal = temporalOfFile();
let server: RawServer;
let host: Host;
const folder = new Folder();
const config = (): ReturnType<Folder['config']> => folder.config(server.url);
beforeAll(async () => {
  // The service fails every second page, and adds fields that no document describes.
  server = await rawServer(({ body }, socket) => {
    const { urls } = JSON.parse(body) as { urls: string[] };
    const good = urls.filter((_url, index) => index % 2 === 0);
    const results = good.map((url) => ({ id: url, url, title: 'A page', text: null, novelty: odd }));
    const statuses = urls.map((id) =>
      good.includes(id)
        ? { id, status: 'success', source: 'cached' }
        : { id, status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404, why: odd } },
    );
    socket.write(json(200, { requestId: 'r', results, statuses, costDollars: { total: 0.002 }, novelty: odd }));
  });
  host = await startHost(temporal, config());
});
afterAll(async () => {
  await host?.stop();
  await server?.close();
  folder.remove();
});

it('unknown fields are carried from the answers through the job into the warehouse', async () => {
  const rows = plainRows(4);
  folder.write(rows);
  const job = await Job.start(temporal, config().taskQueue, folder);
  await job.result();
  await host.stop();
  const found = await folder.query<{ status: string; response: string }>(
    'SELECT status, response::VARCHAR AS response FROM enriched_rows ORDER BY row_number',
  );
  expect(found.map(({ status }) => status)).toEqual(['success', 'error', 'success', 'error']);
  const responses = found.map(({ response }) => JSON.parse(response));
  expect(responses[0]).toEqual({ id: rows[0]?.[2], url: rows[0]?.[2], title: 'A page', text: null, novelty: odd });
  expect(responses[1]).toMatchObject({ status: { id: rows[1]?.[2], error: { tag: 'CRAWL_NOT_FOUND', why: odd } } });
});
