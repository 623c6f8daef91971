import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { json, rawServer } from '../../support/api/raw-server.js';
import { folderOfFile } from '../../support/files/folders.js';
import { endProcess } from '../../support/jobs/processes.js';
import { ofFile } from '../../support/of-file.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const folder = folderOfFile();
const codePath = inject('teamWorkflows');
const cwd = mkdtempSync(join(folder, 'cwd-'));
const script = fileURLToPath(new URL('../../support/worker/alone-worker.mjs', import.meta.url));
const listing = fileURLToPath(new URL('../../support/worker/list-modules.mjs', import.meta.url));
const taskQueue = 'alone';
const page = { url: 'https://page.example/', id: 'https://page.example/', title: 'Page' };

/** Number of requests that get no answer. */
let silent = 0;
/** Answers to requests about `held`, until they are released. */
const held: (() => void)[] = [];
const workers: ChildProcess[] = [];

const server = ofFile(() =>
  rawServer(({ path, body }, socket) => {
    if (silent-- > 0) return;
    const answer = { requestId: randomUUID(), results: [page], costDollars: { total: 0.007 } };
    const statuses = [{ id: page.url, status: 'success' }];
    const reply = () => void socket.write(json(200, path === '/contents' ? { ...answer, statuses } : answer));
    if (String(body).includes('held')) held.push(reply);
    else reply();
  }),
);

/** Starts a worker that has nothing but a key, in a process of its own. Resolves when the worker runs. */
async function start(env: NodeJS.ProcessEnv = {}, plugin: object = {}): Promise<ChildProcess> {
  const address = inject('temporalAddress');
  const config = { address, namespace: fileNamespace(), taskQueue, codePath, url: server.url, plugin };
  const worker = spawn(process.execPath, ['--import', listing, script, JSON.stringify(config)], {
    ...{ cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  workers.push(worker);
  await once(worker.stdout as NodeJS.ReadableStream, 'data');
  return worker;
}

const run = (workflow: string, ...args: unknown[]) =>
  temporal.client.workflow.start(workflow, { taskQueue, workflowId: randomUUID(), args });

describe('a worker with a key alone', () => {
  const list = join(folder, 'modules.txt');
  let worker: ChildProcess;
  beforeAll(async () => {
    worker = await start({ LIST_MODULES: list });
  });
  afterAll(() => endProcess(worker));

  it('a plugin with a key alone gives workflow code the answers of the service, and leaves nothing behind', async () => {
    const handle = await run('brief', 'Acme');
    expect(await handle.result()).toMatchObject([{ url: page.url }]);
    const { events } = await handle.fetchHistory();
    const summaries = (events ?? []).flatMap(({ userMetadata: metadata }) =>
      metadata?.summary?.data ? [JSON.parse(Buffer.from(metadata.summary.data).toString())] : [],
    );
    expect(summaries).toEqual(['Acme official site', page.url]);
    expect(readdirSync(cwd)).toEqual([]);
    const types = new Set<string>();
    for await (const { type } of temporal.client.workflow.list()) types.add(type);
    expect([...types]).toEqual(['brief']);
  });

  it('a plugin with a key alone loads no module of jobs, and no other package than those of the wire and of Temporal', async () => {
    await (await run('brief', 'Acme')).result();
    const loaded = [...new Set(readFileSync(list, 'utf8').trim().split('\n'))];
    const ours = loaded.flatMap((path) => /\/dist\/(?!.*node_modules)(.+)\.js$/.exec(path)?.[1] ?? []);
    const sizes = ours.map((module) => readFileSync(join('src', `${module}.ts`), 'utf8').split('\n').length - 1);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(18_000);
    expect(
      ours.filter((module) =>
        /^(sources|warehouse|postgres|workflows|rows\/(csv|json)\/.*reader|store\/(file|postgres))\b/.test(module),
      ),
    ).toEqual([]);
    const packages = loaded.flatMap((path) => /.*node_modules\/(@temporalio|[^/]+)/.exec(path)?.[1] ?? []);
    expect([...new Set(packages)].sort()).toEqual(['@temporalio', 'eventsource-parser', 'undici', 'zod']);
  });

  it('calls above the concurrency of a workflow wait in the workflow, and a cancelled one is not sent', async () => {
    const queries = ['a', 'b', 'c', 'd', 'e'];
    const handle = await run('twoAtATime', queries);
    expect(await handle.result()).toEqual(['CancelledFailure', ...queries.map(() => 'found')]);
    const { events } = await handle.fetchHistory();
    let open = 0;
    const counts = (events ?? []).map((event) => {
      if (event.activityTaskScheduledEventAttributes) open += 1;
      if (event.activityTaskCompletedEventAttributes) open -= 1;
      return open;
    });
    expect([Math.max(...counts), open]).toEqual([2, 0]);
    expect(server.requests.filter(({ body }) => String(body).includes('cancelled'))).toEqual([]);
  });

  it('a cancelled workflow ends after the answers of its requests in flight are in the history, and sends no other', async () => {
    const handle = await run(
      'fiveAtATime',
      Array.from({ length: 20 }, (_, nth) => `held ${nth}`),
    );
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(5);
    await handle.cancel();
    const isAsked = ({ workflowExecutionCancelRequestedEventAttributes: asked }: { [name: string]: unknown }) => asked;
    const events = async () => (await handle.fetchHistory()).events ?? [];
    await expect.poll(async () => (await events()).some((event) => isAsked(event as never))).toBe(true);
    for (const reply of held.splice(0)) reply();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    const completed = (await events()).filter((event) => event.activityTaskCompletedEventAttributes);
    expect([completed.length, held.length]).toEqual([5, 0]);
  });

  it('a workflow that needs a record fails at once, and says what to pass', async () => {
    const handle = await run('enrichCsv', { input: 'rows.csv', into: 'rows.duckdb' });
    const failure: unknown = await handle.result().catch((error: unknown) => error);
    expect(JSON.stringify(failure, ['message', 'cause'])).toContain(
      'needs a record: pass stateDir or store to SearchflowPlugin',
    );
  });
});

describe('a worker that is killed', () => {
  afterEach(async () => {
    for (const worker of workers.splice(0)) await endProcess(worker);
  });

  it('while its search is in flight: another worker buys it once more and reports the unknown outcome', async () => {
    silent = 1;
    const first = await start({}, { concurrency: 1 });
    const sent = server.requests.length;
    const handle = await run('searchOnce', 'in flight');
    await expect.poll(() => server.requests.length, { timeout: 20_000 }).toBe(sent + 1);
    const other = await run('searchOnce', 'not sent yet');
    const isStarted = async () => (await other.describe()).raw.pendingActivities?.[0]?.lastWorkerIdentity;
    await expect.poll(isStarted, { timeout: 20_000 }).toBeTruthy();
    await endProcess(first);
    await start();
    expect(await handle.result()).toMatchObject({ data: { results: [page] }, bought: true, unknownOutcomes: 1 });
    expect(await other.result()).toMatchObject({ data: { results: [page] }, bought: true, unknownOutcomes: 0 });
    expect(server.requests.length).toBe(sent + 3);
  });
});
