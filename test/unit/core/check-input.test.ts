import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { History } from '../../../scripts/history-proto.mjs';
import { schemasDoc, schemasModule } from '../../../scripts/input-schemas.mjs';
import { workflowInputs } from '../../../src/api/workflow-inputs.js';
import { inputProblems } from '../../../src/core/inputs/check-input.js';
import { nearest } from '../../../src/core/text/nearest.js';
import * as workflows from '../../../src/workflows/index.js';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

describe('the schemas of inputs', () => {
  it('equal the zod schemas (else: npm run build && node scripts/make-input-schemas.mjs)', () => {
    expect(read('src/core/inputs/input-schemas.ts')).toBe(schemasModule(workflowInputs));
    expect(read('docs/workflow-inputs.json')).toBe(schemasDoc(workflowInputs));
  });

  it('exist for every workflow', () => {
    expect(Object.keys(workflowInputs).sort()).toEqual(Object.keys(workflows).sort());
  });
});

describe('inputProblems', () => {
  const folder = 'test/fixtures/histories/';
  it.each(readdirSync(at(folder)).filter((name) => name.endsWith('.bin')))(
    'accepts the recorded input of the history %s',
    (file) => {
      const { events } = History.decode(readFileSync(at(folder + file))) as unknown as {
        events: {
          workflowExecutionStartedEventAttributes: {
            workflowType: { name: string };
            input: { payloads: { data: Uint8Array }[] };
          };
        }[];
      };
      const { workflowType, input } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
      const [first] = input?.payloads.map(({ data }) => JSON.parse(Buffer.from(data).toString())) ?? [];
      expect(inputProblems(workflowType?.name ?? '', [first], true)).toEqual([]);
    },
  );

  it('accepts null where it always meant no value', () => {
    const input = { input: 'rows.csv', urlColumn: null, into: null, csv: null, job: null, options: null, batch: null };
    expect(inputProblems('enrichCsv', [input], true)).toEqual([]);
    expect(inputProblems('syncEvents', [null], true)).toEqual([]);
    expect(inputProblems('runAgent', [{ query: 'q', outputSchema: null }, null], true)).toEqual([]);
  });

  it('accepts fields that only the service may know', () => {
    expect(inputProblems('runAgent', [{ query: 'q', novelty: { a: 1 } }], true)).toEqual([]);
    expect(inputProblems('enrichCsv', [{ input: 'rows.csv', options: { novelty: [1] } }], true)).toEqual([]);
    expect(inputProblems('monitorCall', [{ operation: 'getMonitor', input: { novelty: 1 } }], true)).toEqual([]);
  });

  it('accepts the removal of quiet hours with any definition', () => {
    const input = { name: 'nights', into: 'out.duckdb', restore: true, hours: 'gone', filter: { old: 1 } };
    expect(inputProblems('quietTurn', [input], true)).toEqual([]);
  });

  it('ignores unknown fields if it is not strict, and still refuses wrong types', () => {
    expect(inputProblems('syncEvents', [{ later: 1 }], false)).toEqual([]);
    expect(inputProblems('syncEvents', [{ later: 1, into: 5 }], false)).toHaveLength(1);
  });

  it('never shows an address, and reports ten problems of a thousand', () => {
    const [problem] = inputProblems('enrichCsv', [{ input: 'a', operation: 'postgres://me:hidden@host/db' }], true);
    expect(problem).toMatch(/operation must be one of .* \(got a text that is not shown\)\.$/);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, index]));
    const problems = inputProblems('enrichCsv', [{ input: 'a', ...many }], true);
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe('There are 990 more problems.');
  });

  it('is not confused by names that every object has', () => {
    const input = JSON.parse('{"input": "a", "__proto__": {"into": 5}, "constructor": 1, "toString": 2}');
    expect(inputProblems('enrichCsv', [input], true)).toEqual(
      ['__proto__', 'constructor', 'toString'].map((name) => expect.stringContaining(`${name} is not a field`)),
    );
  });
});

describe('nearest', () => {
  it.each([
    ['max_cost_dollars', 'maxCostDollars'],
    ['MAXCOSTDOLLARS', 'maxCostDollars'],
    ['url-column', 'urlColumn'],
    ['bacth', 'batch'],
    ['io', 'into'],
    ['x', null],
    ['somethingElse', null],
  ])('of %s is %s', (misspelt, meant) => {
    expect(nearest(misspelt, ['input', 'into', 'csv', 'batch', 'urlColumn', 'maxCostDollars'])).toBe(meant);
  });
});
