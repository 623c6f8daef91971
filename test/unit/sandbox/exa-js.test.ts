import { createServer, type Server } from 'node:http';
import { Exa, type ExaError } from 'exa-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ofFile } from '../../support/of-file.js';
import { eventually } from '../../support/sandbox/eventually.js';
import { listen } from '../../support/sandbox/listen.js';

const sandbox = ofFile(() =>
  startSandbox({
    failureRate: 0,
    agentRuns: { durationMs: 60 },
    research: { durationMs: 60 },
    monitors: { durationMs: 30 },
    events: { count: 2000, order: 'oldest' },
  }),
);
let hook: Server;
let exa: Exa;
let hookUrl: string;
beforeAll(async () => {
  hook = createServer((request, response) => void request.resume().on('end', () => response.end()));
  hookUrl = await listen(hook);
  exa = new Exa('any-key', sandbox.url);
});
afterAll(async () => {
  hook.close();
});

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

test('the vendor’s client searches, with and without written output', async () => {
  const plain = await exa.search('repair of radios', { numResults: 3, contents: { highlights: true } });
  expect(plain.results).toHaveLength(3);
  expect(plain.results[0]?.highlights).toHaveLength(1);
  const written = await exa.search('q', {
    type: 'deep',
    outputSchema: { type: 'object', properties: { year: { type: 'integer' } }, required: ['year'] },
  });
  expect(written.output?.content).toEqual({ year: expect.any(Number) });
  expect(written.output?.grounding[0]?.field).toBe('year');
});

test('the vendor’s client reads a streamed search and a streamed answer', async () => {
  const search = await collect(exa.streamSearch('q', { outputSchema: { type: 'text' } }));
  expect(search.map(({ content }) => content ?? '').join('')).toContain('About “q”');
  expect(search.some(({ citations }) => (citations?.length ?? 0) > 0)).toBe(true);
  const answer = await collect(exa.streamAnswer('why?'));
  const whole = await exa.answer('why?');
  expect(answer.map(({ content }) => content ?? '').join('')).toBe(whole.answer);
  expect(answer.at(-1)?.citations?.map(({ url }) => url)).toEqual(whole.citations.map(({ url }) => url));
});

test('the vendor’s client gets contents, similar pages and answers that fit a schema', async () => {
  const contents = await exa.getContents(['https://a.example/', 'https://b.example/'], { text: true });
  expect(contents.results.map(({ url }) => url)).toEqual(['https://a.example/', 'https://b.example/']);
  expect((await exa.findSimilar('https://a.example/', { numResults: 4 })).results).toHaveLength(4);
  const schema = { type: 'object', properties: { names: { type: 'array', items: { type: 'string' } } } };
  const { answer, citations } = await exa.answer('who?', { outputSchema: schema, text: true });
  expect(answer).toEqual({ names: expect.any(Array) });
  expect(citations[0]).toMatchObject({ text: expect.any(String) });
});

test('the vendor’s client runs agents: by polling, as a stream, lists, events, cancel, stop, delete', async () => {
  const outputSchema = { type: 'object', properties: { url: { type: 'string', format: 'uri' } }, required: ['url'] };
  const done = await exa.agent.runs.createAndWait({ query: 'find it', outputSchema }, { pollInterval: 20 });
  expect(done.output?.structured).toEqual({ url: expect.stringMatching(/^https:/) });
  const streamed = await collect(await exa.agent.runs.create({ query: 'again', stream: true }));
  expect(streamed.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['agent_run.created', 'agent_run.started', 'agent_run.completed']),
  );
  const stored = await exa.agent.runs.events.list(done.id, { limit: 2 });
  expect(stored).toMatchObject({ object: 'list', hasMore: true, data: [{ event: 'agent_run.created' }, {}] });
  const long = await exa.agent.runs.create({ query: 'slowly', effort: 'ultra' });
  expect(await exa.agent.runs.stop(long.id)).toMatchObject({ status: 'completed', stopReason: 'stopped' });
  const other = await exa.agent.runs.create({ query: 'no more' });
  expect(await exa.agent.runs.cancel(other.id)).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' });
  expect(await exa.agent.runs.getAll({ limit: 1 })).toHaveLength(4);
  expect(await exa.agent.runs.delete(other.id)).toMatchObject({ deleted: true });
  const refused = (await exa.agent.runs.get(other.id).catch((error: unknown) => error)) as ExaError;
  expect([refused.statusCode, refused.code]).toEqual([404, 'RUN_NOT_FOUND']);
  const max = exa.beta.agent.runs.create({ query: 'q', effort: 'max', betas: ['agent-max-effort-2026-07-27'] });
  await expect(max).resolves.toMatchObject({ object: 'agent_run' });
});

test('the vendor’s client keeps monitors: create, list, update, trigger, runs, delete', async () => {
  const created = await exa.monitors.create({
    name: 'News',
    search: { query: 'news', numResults: 2 },
    trigger: { type: 'interval', period: '1h' },
    metadata: { team: 'one' },
    webhook: { url: hookUrl },
  });
  expect(created.webhookSecret).toMatch(/^whsec_/);
  const changed = await exa.monitors.update(created.id, {
    // The client's type requires a whole search, but the service accepts only the changed fields.
    search: { numResults: 3 } as { query: string; numResults: number },
    trigger: null,
  });
  expect(changed).toMatchObject({ search: { query: 'news', numResults: 3 }, trigger: null, nextRunAt: null });
  expect(changed).not.toHaveProperty('webhookSecret');
  expect(await exa.monitors.trigger(created.id)).toEqual({ triggered: true });
  await eventually(async () => (await exa.monitors.runs.list(created.id)).data[0]?.status).toBe('completed');
  const [run] = await exa.monitors.runs.getAll(created.id);
  const full = await exa.monitors.runs.get(created.id, run?.id as string);
  expect(full.output?.results).toHaveLength(3);
  expect((await exa.monitors.getAll({ status: 'active' })).map(({ id }) => id)).toEqual([created.id]);
  expect(await exa.monitors.get(created.id)).toMatchObject({ name: 'News' });
  expect(await exa.monitors.delete(created.id)).toMatchObject({ id: created.id });
  await expect(exa.monitors.get(created.id)).rejects.toMatchObject({ statusCode: 404 });
});

test('the vendor’s client reads every webset event once, and the websets of these events', async () => {
  const events = await exa.websets.events.getAll({ limit: 200 });
  expect(events).toHaveLength(2000);
  expect(new Set(events.map(({ id }) => id)).size).toBe(2000);
  const last = events.at(-1);
  expect(await exa.websets.events.get(last?.id as string)).toEqual(last);
  const two = ['import.created', 'webset.export.created'] as never[];
  const some = await exa.websets.events.getAll({ types: two, limit: 50 });
  expect(new Set(some.map(({ type }) => type as string))).toEqual(new Set(two));
  const { data } = await exa.websets.list({ limit: 2 });
  const webset = await exa.websets.get(data[1]?.id as string, ['items'] as never);
  const items = await exa.websets.items.getAll(webset.id, { limit: 3 });
  expect(items).toEqual((webset as unknown as { items: unknown[] }).items);
});
