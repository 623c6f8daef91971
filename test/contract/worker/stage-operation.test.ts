import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTransport } from '../../../src/api/transport.js';
import type { JobEntry } from '../../../src/core/job-entry-schemas.js';
import { freshnessOf } from '../../../src/core/purchase/freshness.js';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { entryAfter, stageOf } from '../../../src/core/rows/job-entries.js';
import { canonicalJson } from '../../../src/core/text/json.js';
import { readSlice, sliceFile } from '../../../src/rows/index.js';
import { sha256 } from '../../../src/worker/config/sha256.js';
import { noteState, refuseOtherUse } from '../../../src/worker/staging/find-job.js';
import { askedOf, stageEnrichment, toRunInput } from '../../../src/worker/staging/stage-job.js';
import { FolderJobs } from '../../../src/worker/store/folder-jobs.js';
import { plan, request } from '../../support/cli/fake-runtime.js';
import { folderOfFile, folderOfTest } from '../../support/files/folders.js';

const dir = folderOfFile();
const transport = createTransport({ baseUrl: 'http://127.0.0.1:9', apiKey: null });
afterAll(() => transport.close());

const context = { stateDir: dir, origin: 'sandbox', cwd: dir, concurrency: 50, transport, shared: false };
const common = { urlColumn: null, delimiter: null, job: null, into: null, options: {}, batch: 100 };

function stage(text: string, request: Partial<EnrichCsvInput>, name = 'rows.csv', stateDir = dir) {
  writeFileSync(join(dir, name), text);
  return stageEnrichment({ ...context, stateDir }, { ...common, input: name, ...request });
}

async function rowsOf(staged: Awaited<ReturnType<typeof stage>>['staged']) {
  const all = [];
  for (let slice = 0; slice < staged.slices; slice++) all.push(...(await readSlice(sliceFile(staged.stageDir, slice))));
  return all;
}

const template = { query: '{{name}} official site' };

describe('staging rows of whole requests', () => {
  it('takes at most six events of a history for a thousand searches', async () => {
    const lines = Array.from({ length: 20_001 }, (_, index) => `company ${index}`).join('\n');
    const { staged } = await stage(`name\n${lines}\n`, { operation: 'search', template });
    expect(staged).toMatchObject({ rows: 20_001, slices: 21, rowsPerSlice: 1000, window: 3 });
  });

  it('has keys from the whole request: the place of a field in template or options does not matter, its value does', async () => {
    const keys = async (request: Partial<EnrichCsvInput>) =>
      (await rowsOf((await stage('name\na\nb\n', { operation: 'search', ...request })).staged)).map(({ k }) => k);
    const plain = await keys({ template, options: { numResults: 3 } });
    expect(new Set(plain).size).toBe(2);
    expect(await keys({ template: { ...template, numResults: 3 } })).toEqual(plain);
    expect(await keys({ template, options: { numResults: 4 } })).not.toContain(plain[0]);
    expect(await keys({ operation: 'answer', template })).not.toContain(plain[0]);
  });

  it('makes another job for another operation on a file, and the same job for another question', async () => {
    const job = async (request: Partial<EnrichCsvInput>) => (await stage('name\na\n', request)).staged;
    const search = await job({ operation: 'search', template });
    expect((await job({ operation: 'answer', template })).job).not.toBe(search.job);
    const other = await job({ operation: 'search', template: { query: '{{name}}' } });
    expect([other.job, other.generation === search.generation]).toEqual([search.job, false]);
  });

  it('renders texts of any field, and keeps the rest for all rows', async () => {
    const { staged } = await stage('name,city\nAcme,"Rome, ""IT"""\n', {
      operation: 'agent',
      template: { query: 'CEO of {{name}}', input: { data: [{ city: '{{city}}' }] }, effort: 'low' },
      options: { systemPrompt: 'Use {{braces}} as they are' },
    });
    expect(staged.options).toEqual({ effort: 'low', systemPrompt: 'Use {{braces}} as they are' });
    expect((await rowsOf(staged)).map(({ u }) => JSON.parse(u as string))).toEqual([
      { query: 'CEO of Acme', input: { data: [{ city: 'Rome, "IT"' }] } },
    ]);
  });
});

describe('a request that fits no row', () => {
  const url = 'site\nhttps://a.example/\n';
  const ask = { query: '{{site}}' };
  it.each<[Partial<EnrichCsvInput>, string]>([
    [{ options: { numResults: 1e9 } }, 'numResults is a field of search, not of contents.'],
    [{ options: { urls: ['https://b.example/'] } }, 'urls: the URLs of contents come from the rows of the file.'],
    [{ options: { ids: ['https://b.example/'] } }, 'ids: the URLs of contents come from the rows of the file.'],
    [{ options: { url: 'https://b.example/' } }, 'url: the URLs of contents come from the rows of the file.'],
    [{ options: { text: 5 } }, 'text: '],
    [{ operation: 'search', template: ask, options: { numResults: '5' } }, 'numResults: '],
    [{ operation: 'agent', template: {}, options: { query: 'Find', effort: 5 }, rowsPerRun: 2 }, 'effort: '],
    [{ options: { txet: true } }, 'txet is not a field of contents; did you mean text?'],
    [{ options: { text: { maxCharcters: 9 } } }, 'did you mean text.maxCharacters?'],
    [{ options: { systemPromt: 'p' } }, 'did you mean systemPrompt?'],
    [
      { operation: 'search', template: ask, options: { numResluts: 3 } },
      'numResluts is not a field of search; did you mean numResults?',
    ],
    [
      { operation: 'search', template: ask, options: { contents: { summary: { qurey: 'q' } } } },
      'did you mean contents.summary.query?',
    ],
    [{ operation: 'agent', template: ask, options: { effrot: 'low' } }, 'did you mean effort?'],
    [{ operation: 'agent', template: { ...ask, effrot: 'low' } }, 'did you mean effort?'],
    [{ operation: 'agent', template: ask, options: { effort: 'lwo' } }, 'effort is "lwo"; did you mean low?'],
    [
      { operation: 'agent', template: ask, options: { budget: { maxCostDollers: 1 } } },
      'did you mean budget.maxCostDollars?',
    ],
    [{ options: { livecrawl: 'allways' } }, 'livecrawl is "allways"; did you mean always?'],
    [
      { operation: 'search', template: ask, options: { numResults: 0 } },
      'numResults: must be a whole number of at least 1 (got 0)',
    ],
    [
      { operation: 'search', template: ask, options: { livecrawl: 'never' } },
      'livecrawl is a field of contents, not of search',
    ],
    [
      { operation: 'answer', template: ask, options: { numResults: 3 } },
      'numResults is a field of search, not of answer',
    ],
    [{ operation: 'agent', template: { ...ask, numResults: 3 } }, 'numResults is a field of search, not of agent'],
    [
      { operation: 'agent', template: ask, options: { outputSchema: { type: 'banana' } } },
      'outputSchema.type: must be one of',
    ],
  ])('is refused before anything is written: %j', async (request, message) => {
    // The folder of the stage is below a file, so its draft cannot be made.
    await expect(stage(url, request, 'refused.csv', join(dir, 'refused.csv'))).rejects.toMatchObject({
      ...{ name: 'UsageError', message: expect.stringContaining(message) },
    });
  });

  it.each<Partial<EnrichCsvInput>>([
    { options: { text: true, novelty: 1, systemPrompt: 'p', userIdentifier: 'u' } },
    { operation: 'search', template: ask, options: { type: 'novel', category: 'other', novelty: 1 } },
    { operation: 'agent', template: { ...ask, effort: 'novel', outputSchema: { novelty: 5, items: true } } },
    { operation: 'answer', template: ask, options: { model: 'novel', text: true } },
  ])('does not mean values that only the service may know: %j', async (request) => {
    expect((await stage(url, request, 'known.csv')).staged.rows).toBe(1);
  });
});

describe('staging rows that share a run', () => {
  const request = { operation: 'agent', rowsPerRun: 3, options: { query: 'Find each CEO' } } as const;
  const text = 'name,city\na,1\nb,\n,\nc,3\nc,3\nd,4\ne\nf,6\n';

  it('groups the given number of good rows in order; bad ones are included, and equal ones share a unit', async () => {
    const { staged } = await stage(text, request);
    const rows = await rowsOf(staged);
    expect(rows.map(({ n, e }) => [n, e])).toEqual([
      [1, null],
      [2, null],
      [3, 'MISSING_VALUE'],
      [4, null],
      [5, null],
      [6, null],
      [7, 'CSV_RAGGED'],
      [8, null],
    ]);
    const units = rows.flatMap(({ u, e }) => (e === null ? [JSON.parse(u as string).input.data] : []));
    const names = units.map((data: { name: string }[]) => data.map(({ name }) => name).join(''));
    expect(names).toEqual(['abc', 'abc', 'abc', 'cdf', 'cdf', 'cdf']);
    expect(rows.filter(({ e }) => e === null).map(({ d }) => d ?? false)).toEqual([
      false,
      true,
      true,
      false,
      true,
      true,
    ]);
    for (const [index, row] of rows.filter(({ e }) => e === null).entries())
      expect(units[index].map(({ row_id: id }: { row_id: string }) => id)).toContain(row.h);
    expect(units[0][1]).toEqual({ row_id: rows[1]?.h, name: 'b' });
  });

  it('sends for a row the only object of input.data, and requests a list of the schema', async () => {
    const outputSchema = {
      type: 'object',
      description: 'D',
      properties: { ceo: { type: 'string' } },
      required: ['ceo'],
    };
    const { staged } = await stage('name,city\na,1\nb,2\n', {
      ...request,
      template: { input: { data: [{ company: '{{name | upcase}}' }] } },
      options: { query: 'Find', outputSchema },
    });
    const [first] = await rowsOf(staged);
    expect(JSON.parse(first?.u as string).input.data).toEqual([
      { company: 'A', row_id: expect.stringMatching(/^[0-9a-f]{16}$/) },
      { company: 'B', row_id: expect.stringMatching(/^[0-9a-f]{16}$/) },
    ]);
    expect(staged.options.outputSchema).toMatchObject({
      type: 'object',
      required: ['rows'],
      properties: {
        rows: {
          type: 'array',
          items: {
            ...{ type: 'object', description: 'D', required: ['row_id', 'ceo'] },
            properties: { row_id: { type: 'string' }, ceo: { type: 'string' } },
          },
        },
      },
    });
  });
});

describe('staging a job again', () => {
  const entryOf = (staged: JobEntry['staged'], named = false): JobEntry => ({
    staged,
    named,
    csv: null,
    completed: null,
    state: { phase: 'done', since: 0 },
    asked: {},
  });
  /** Stages rows when the list of jobs has these entries. */
  const again = (request: Partial<EnrichCsvInput>, ...jobs: readonly JobEntry[]) => {
    writeFileSync(join(dir, 'again.csv'), 'site,name\nhttps://a.example/,a\n');
    const asked = { ...common, input: 'again.csv', ...request };
    return stageEnrichment({ ...context, jobs: async () => jobs }, asked);
  };

  it('keeps column, scheme and options of its last run, unless the request has its own', async () => {
    const options = { text: true, maxAgeHours: 3 };
    const first = await again({ urlColumn: 'site', defaultScheme: 'https', options });
    const kept = await again({}, entryOf(first.staged));
    expect(kept.request).toMatchObject({ defaultScheme: 'https', options });
    expect(kept.staged.generation).toBe(first.staged.generation);
    const other = await again({ options: { text: true }, defaultScheme: 'none' }, entryOf(first.staged));
    expect(other.request).toMatchObject({ options: { text: true }, defaultScheme: 'none' });
  });

  it('keeps generation and slices of an earlier stage until its rows or request differ', async () => {
    const rows = (count: number) =>
      `site\n${Array.from({ length: count }, (_, index) => `https://a.example/${index}\n`).join('')}`;
    const restage = (text: string, entry?: JobEntry, request: Partial<EnrichCsvInput> = {}) => {
      writeFileSync(join(dir, 'sizes.csv'), text);
      const asked = { ...common, urlColumn: 'site', input: 'sizes.csv', ...request };
      return stageEnrichment({ ...context, jobs: async () => (entry ? [entry] : []) }, asked);
    };
    const { staged } = await restage(rows(5), undefined, { batch: 1 });
    expect(staged).toMatchObject({ slices: 1, rowsPerSlice: 100 });
    const { manifest } = await restage(rows(5));
    const facts = ['contents', manifest.contentHash, { text: true }, 'site', null, 1, {}, 2];
    const first = { ...staged, generation: sha256(canonicalJson(facts)).slice(0, 12), rowsPerSlice: 2, slices: 3 };
    const kept = await restage(rows(5), entryOf(first), { batch: 1 });
    expect(kept.staged).toMatchObject({ generation: first.generation, rowsPerSlice: 2, slices: 3 });
    expect(await rowsOf(kept.staged)).toHaveLength(5);
    const later = entryAfter(entryOf(first), entryOf(staged));
    expect((await restage(rows(5), later, { batch: 1 })).staged.generation).toBe(staged.generation);
    const other = await restage(rows(6), entryOf(first), { batch: 1 });
    expect(other.staged).toMatchObject({ rowsPerSlice: 100, slices: 1 });
    expect(other.staged.generation).not.toBe(first.generation);
  });

  it('keeps no options of a run with a template, because they are a part of its request', async () => {
    const ask = { operation: 'search', template: { query: '{{name}}' }, options: { numResults: 3 } } as const;
    const first = await again(ask);
    expect((await again({ ...ask, options: {} }, entryOf(first.staged))).request.options).toEqual({});
    const missing = again({ operation: 'search', options: {} }, entryOf(first.staged));
    await expect(missing).rejects.toThrow('names no column');
  });

  it('has a limit only if it is below the number of rows, and names its machine for a file of a shared store', async () => {
    expect((await again({ limit: 1 })).staged.limit).toBeUndefined();
    expect((await stage('site\nhttps://a.example/\nhttps://b.example/\n', { limit: 1 })).staged.limit).toBe(1);
    const shared = { ...context, shared: true };
    const asked = { ...common, input: 'again.csv' };
    expect((await stageEnrichment(shared, asked)).staged.host).toBe(hostname());
    expect((await stageEnrichment(shared, { ...asked, into: 'postgres://h/d' })).staged).not.toHaveProperty('host');
    expect((await again({})).staged).not.toHaveProperty('host');
  });

  it('keeps its last stages for runs that still load them', async () => {
    const { staged } = await again({});
    const stages = ['g1', 'g2', 'g3', 'g4', 'g5'].map((generation) => entryOf({ ...staged, generation }));
    const last = stages.reduce((before: JobEntry | null, now) => entryAfter(before, now), null) as JobEntry;
    const found = ['g1', 'g2', 'g3', 'g4', 'g5'].map((name) => stageOf(last, name)?.staged.generation ?? null);
    expect(found).toEqual([null, 'g2', 'g3', 'g4', 'g5']);
    const back = entryAfter(last, entryOf({ ...staged, generation: 'g4' }));
    expect([back, ...(back.earlier ?? [])].map((one) => one.staged.generation)).toEqual(['g4', 'g5', 'g3', 'g2']);
  });

  it('refuses the name of a job of another file or operation, service by service', () => {
    const before = { name: 'brands', origin: 'sandbox', operation: 'contents', input: '/a.csv' } as JobEntry['staged'];
    const refuse = (changes: object, named = true, isNamed = true) =>
      refuseOtherUse({ ...before, ...changes }, named, [entryOf(before, isNamed)]);
    expect(() => refuse({ operation: 'search' })).toThrow('already exists for the operation contents');
    expect(() => refuse({ input: '/b.csv' })).toThrow('already exists for /a.csv');
    for (const free of [{}, { input: '-' }, { name: 'x', input: '/b.csv' }, { origin: 'elsewhere', input: '/b.csv' }])
      expect(() => refuse(free)).not.toThrow();
    expect(() => refuse({ input: '/b.csv' }, false)).not.toThrow();
    expect(() => refuse({ input: '/b.csv' }, true, false)).not.toThrow();
  });

  it('is complete when all its rows are loaded, and its state is not replaced by an earlier run', async () => {
    const { staged } = await again({});
    const state = folderOfTest();
    const entries = new FolderJobs(join(state, 'jobs'));
    onTestFinished(() => entries.close());
    const noted = async (of: JobEntry['staged'], now: Parameters<typeof noteState>[2]) => {
      await noteState(entries, of, now);
      const { completed, state: then } = (await entries.get(staged.job)) as JobEntry;
      return [completed, then?.phase, then?.since];
    };
    await entries.put(entryOf(staged));
    const whole = staged.generation;
    expect(await noted({ ...staged, limit: 1 }, { phase: 'done', since: 5 })).toEqual([null, 'done', 5]);
    expect(await noted(staged, { phase: 'running', since: 4 })).toEqual([null, 'done', 5]);
    expect(await noted(staged, { phase: 'running', since: 6 })).toEqual([null, 'running', 6]);
    expect(await noted({ ...staged, generation: 'earlier' }, { phase: 'done', since: 7 })).toEqual([
      null,
      'running',
      6,
    ]);
    expect(await noted(staged, { phase: 'paused', since: 8 })).toEqual([null, 'paused', 8]);
    expect(await noted(staged, { phase: 'done', since: 9 })).toEqual([whole, 'done', 9]);
    const counts = { rows: 3, success: 2, error: 1, invalid: 0, missing: 0, vanished: 0, tags: { TIMEOUT: 1 } };
    const counted = async (now: Parameters<typeof noteState>[2]) => {
      await noteState(entries, staged, now);
      return (await entries.get(staged.job))?.state?.counts;
    };
    expect(await counted({ phase: 'paused', since: 10, counts })).toEqual(counts);
    // No row was loaded between the pause and the cancel, so the counts of the pause are still right.
    expect(await counted({ phase: 'cancelled', since: 11 })).toEqual(counts);
    expect(await counted({ phase: 'running', since: 12 })).toBeUndefined();
    const tags = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`T${n}`, 1]));
    expect(await counted({ phase: 'paused', since: 13, counts: { ...counts, tags } })).toBeUndefined();
    await noteState(entries, { ...staged, job: 'unknown-1' }, { phase: 'done', since: 9 });
    expect(await entries.get('unknown-1')).toBeNull();
  });
});

it('the input of a workflow that a command starts has its limits, and its CSV unless a worker on another machine may end the job', () => {
  const typed = { ...request, maxCostDollars: 2, maxRunSeconds: 60, rebuy: true };
  const asked = { maxCostDollars: 2, maxRunSeconds: 60, freshness: { rebuyBefore: 1000 } };
  expect(askedOf(typed, freshnessOf(typed, 1000))).toEqual(asked);
  expect(askedOf(request, freshnessOf(request, 1000))).toEqual({});
  const { staged } = plan;
  const run = { input: '/data/brands.csv', urlColumn: 'source', staged };
  expect(toRunInput({ staged, asked, csv: '/o.csv' }, false)).toEqual({ ...run, ...asked, csv: '/o.csv' });
  expect(toRunInput({ staged, asked: {}, csv: '/o.csv' }, true)).toEqual(run);
  expect(toRunInput({ staged: { ...staged, unitColumn: null }, asked: {}, csv: null }, false).urlColumn).toBe('');
});
