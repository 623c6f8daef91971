import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { schemasModule } from '../../../scripts/input-schemas.mjs';
import { efforts } from '../../../src/core/request-values.js';
import { setTwice } from '../../../src/core/rows/agent-rows.js';
import { nearest } from '../../../src/core/text/nearest.js';
import { workflowInputs } from '../../../src/core/workflow-input-schemas.js';
import * as workflows from '../../../src/workflows/index.js';
import { inputProblems } from '../../../src/workflows/shared/public-input.js';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(at(path), 'utf8');

describe('the schemas of inputs', () => {
  it('equal the zod schemas (else: npm run generate)', () => {
    expect(read('src/core/input-schemas.ts')).toBe(schemasModule(workflowInputs));
  });

  it('exist for every workflow', () => {
    expect(Object.keys(workflowInputs).sort()).toEqual(Object.keys(workflows).sort());
  });
});

describe('inputProblems', () => {
  it('refuses an input that no history can hold', () => {
    expect(inputProblems('runAgent', [{ request: { query: 'x'.repeat(1_800_000) } }], true)).toEqual([
      'runAgent: the input has 1758 KB as JSON; 1024 KB is the limit. Shorten its schema, texts or lists.',
    ]);
  });

  it.each([
    ['runAgent', { query: 'q', effrot: 'low', budget: { maxCostDollers: 1 }, input: { dtaa: [] } }],
    ['runAgent', { query: 'q', effort: 'xxhigh', dataSources: [{ provdier: 'x' }] }],
    ['runResearch', { input: { instructions: 'i', instructons: 'j' }, output: { shcema: {} } }],
    ['runAgentRows', { input: 'a', query: 'q', effort: 'xxhigh' }],
    ['syncEvents', { types: ['webset.item.creatd'] }],
  ])(
    'leaves misspelt names and values of requests of %s to the worker, which may send them: %j',
    (workflow, request) => {
      expect(inputProblems(workflow, [request], true)).toEqual([]);
    },
  );

  it.each([
    ['maxCostDollars', 'maxCostDollars'],
    ['max_cost_dollars', 'maxCostDollars'],
  ])('refuses the bound %s of a run in its request, which the service would not know', (field, meant) => {
    const problem = `${field} belongs to the options, the second argument of runAgent, as ${meant}.`;
    expect(inputProblems('runAgent', [{ query: 'q', [field]: 1 }, { unchecked: true }], true)).toEqual([problem]);
  });

  it.each(['syncEvents', 'backfillEvents'])('refuses an empty event type of %s', (workflow) => {
    expect(inputProblems(workflow, [{ types: ['webset.idle', ' '] }], true)).toEqual([
      'types[1] must be a text that is not empty (got " ").',
    ]);
    expect(inputProblems(workflow, [{ types: ['webset.idle', 'webset.merged', 'no.such'] }], true)).toEqual([]);
  });

  it('accepts an effort that the service may have added', () => {
    expect(inputProblems('runAgent', [{ query: 'q', effort: 'maximum' }], true)).toEqual([]);
    expect(inputProblems('runAgent', [{ query: 'q', effort: 'mix', budget: null }], true)).toEqual([]);
  });

  it('accepts further fields of a request, which the service may know, and any name in its own data', () => {
    const data = [{ quary: 1, inputs: 2 }];
    const request = { query: 'q', novelty: true, temperature: 0.5, input: { data }, metadata: { querry: 'x' } };
    expect(inputProblems('runAgent', [request], true)).toEqual([]);
  });

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

  it('ignores unknown fields if it is not strict, and still refuses wrong types', () => {
    expect(inputProblems('syncEvents', [{ later: 1 }], false)).toEqual([]);
    expect(inputProblems('syncEvents', [{ later: 1, into: 5 }], false)).toHaveLength(1);
  });

  const agents = { input: 'a', query: 'q' };
  it.each<[workflow: string, args: readonly unknown[], problem: string]>([
    ['runAgentRows', [{ ...agents, maxRunSeconds: 1e300 }], 'at most 31536000, a year (got 1e+300).'],
    ['enrichCsv', [{ input: 'a', maxRunSeconds: 0 }], 'maxRunSeconds must be a number of seconds above 0'],
    [
      'enrichCsv',
      [{ input: 'a', maxCostDollars: 1e300 }],
      'maxCostDollars must be a number from 0 to 1000000000 (got 1e+300).',
    ],
    [
      'enrichCsv',
      [{ input: 'a', delimiter: '"' }],
      'delimiter must be one character other than a double quote and a line break',
    ],
    ['enrichCsv', [{ input: 'a', delimiter: '\n' }], 'delimiter must be one character'],
    [
      'runAgent',
      [{ query: 'q' }, { maxDurationSeconds: 2_073_601 }],
      'at most 2073600, 24 days: timers cannot be longer',
    ],
    [
      'runAgent',
      [{ query: 'q' }, { maxCostDollars: 1e10 }],
      'options.maxCostDollars must be a number from 0 to 1000000000',
    ],
    [
      'syncEvents',
      [{ parallel: 1e9 }],
      'parallel must be a whole number from 1 to 256, the most requests in flight of a worker (got 1000000000).',
    ],
    ['backfillEvents', [{ parallel: 257 }], 'parallel must be a whole number from 1 to 256'],
  ])('refuses a value of %s that is out of range: %j', (workflow, args, problem) => {
    expect(inputProblems(workflow, args, true)).toEqual([expect.stringContaining(problem)]);
  });

  it.each<[workflow: string, args: readonly unknown[]]>([
    ...efforts.map((effort): [string, unknown[]] => ['runAgentRows', [{ ...agents, effort }]]),
    ['runAgentRows', [{ ...agents, request: { effort: 'new' }, maxRunSeconds: 31_536_000 }]],
    ['runAgent', [{ query: 'q', effort: 'new' }, { maxDurationSeconds: 2_073_600 }]],
    ['enrichCsv', [{ input: 'a', delimiter: '\t', limit: 1e15, maxCostDollars: 'none' }]],
    ['syncEvents', [{ parallel: 256, types: ['webset.new'] }]],
    ['runResearch', [{ input: { instructions: 'i' } }, { beta: ['b-2026-01-01'], extraHeaders: { 'x-team': 'a' } }]],
    ['exportMonitorRuns', [{ filter: { metadata: { n: 1, isNew: true, team: 'a' } } }]],
  ])('accepts the last value of a range, and values that only the service may know: %s %j', (workflow, args) => {
    expect(inputProblems(workflow, args, true)).toEqual([]);
  });

  it('refuses a field of an agent job that is set beside the request and in it', () => {
    const rows = { input: 'a', query: 'q' };
    expect(
      setTwice({ ...rows, effort: 'low', request: { effort: 'high', query: 'r', budget: { maxCostDollars: 1 } } }),
    ).toBe(
      'query and request.query are both set; set one of them. effort and request.effort are both set; set one of them.',
    );
    expect(setTwice({ ...rows, request: { effort: 'high' } })).toBeNull();
    expect(setTwice(rows)).toBeNull();
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

it.each([
  ['max_cost_dollars', 'maxCostDollars'],
  ['MAXCOSTDOLLARS', 'maxCostDollars'],
  ['url-column', 'urlColumn'],
  ['bacth', 'batch'],
  ['io', 'into'],
  ['x', null],
  ['somethingElse', null],
])('nearest of %s is %s', (misspelt, meant) => {
  expect(nearest(misspelt, ['input', 'into', 'csv', 'batch', 'urlColumn', 'maxCostDollars'])).toBe(meant);
});
