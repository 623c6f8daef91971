import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createTransport } from '../../../src/api/transport.js';
import { readSlice, sliceFile } from '../../../src/rows/index.js';
import { type StageRequest, stageEnrichment } from '../../../src/worker/staging/stage-job.js';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-stage-'));
const transport = createTransport({ baseUrl: 'http://127.0.0.1:9', apiKey: null });
afterAll(async () => {
  await transport.close();
  rmSync(dir, { recursive: true, force: true });
});

const context = { stateDir: dir, origin: 'sandbox', cwd: dir, concurrency: 50, transport, shared: false };
const common = { urlColumn: null, delimiter: null, job: null, into: null, options: {}, batch: 100 };

function stage(text: string, request: Partial<StageRequest>, name = 'rows.csv') {
  writeFileSync(join(dir, name), text);
  return stageEnrichment(context, { ...common, input: name, ...request });
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
    const keys = async (request: Partial<StageRequest>) =>
      (await rowsOf((await stage('name\na\nb\n', { operation: 'search', ...request })).staged)).map(({ k }) => k);
    const plain = await keys({ template, options: { numResults: 3 } });
    expect(new Set(plain).size).toBe(2);
    expect(await keys({ template: { ...template, numResults: 3 } })).toEqual(plain);
    expect(await keys({ template, options: { numResults: 4 } })).not.toContain(plain[0]);
    expect(await keys({ operation: 'answer', template })).not.toContain(plain[0]);
  });

  it('makes another job for another operation on a file, and the same job for another question', async () => {
    const job = async (request: Partial<StageRequest>) => (await stage('name\na\n', request)).staged;
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
