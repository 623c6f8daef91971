import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { isPlainShape } from '../../../src/api/checks/shape.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import { arbitraryOf } from '../../support/api/arbitrary-of.js';
import { runs } from '../../support/property-runs.js';

type Path = readonly (string | number)[];

/** The paths of all values inside a value of JSON. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...inside.flatMap(([step, one]) => pathsOf(one, [...path, step]))];
}

/** A copy with another value at a path; undefined: without the value. */
function changed(value: unknown, [step, ...rest]: Path, other: unknown): unknown {
  if (step === undefined) return other;
  if (Array.isArray(value)) return value.map((one, nth) => (nth === step ? changed(one, rest, other) : one));
  const { [step]: old, ...others } = value as Record<string, unknown>;
  const made = changed(old, rest, other);
  return made === undefined ? others : { ...others, [step]: made };
}

describe.each(Object.keys(operationTable) as OperationName[])('an answer of %s', (name) => {
  const { response } = operationTable[name];

  test('that has the shape for certain is accepted by zod, also with a field of another type or without it', () => {
    const others = fc.constantFrom(undefined, null, 1, 1e300, true, 'text', [], {}, [1], { a: [] });
    fc.assert(
      fc.property(arbitraryOf(response), fc.nat(), others, (value, nth, other) => {
        const paths = pathsOf(value);
        const odd = changed(value, paths[nth % paths.length] as Path, other);
        for (const one of [value, odd])
          if (isPlainShape(response, one)) expect(response.safeParse(one).success).toBe(true);
      }),
      { numRuns: runs(60) },
    );
  });
});

it('the answer of contents is known for certain, so that it is not copied', () => {
  const result = { id: 'a', url: 'https://a.example', title: null, text: 'a', highlights: ['b'], more: [{}] };
  const statuses = [{ id: 'a', status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } }];
  const answer = { requestId: 'r', results: [result], statuses, costDollars: { total: 0.001 } };
  expect(isPlainShape(contentsEndpoint.response, answer)).toBe(true);
  expect(isPlainShape(contentsEndpoint.response, { ...answer, results: [{ ...result, text: 5 }] })).toBe(false);
});

it.each([
  ['a format', z.email(), 'no address'],
  ['a limit', z.string().min(3), 'a'],
  ['a limit of a number', z.int(), 1.5],
  ['other fields refused', z.strictObject({}), { a: 1 }],
  ['a choice', z.enum(['a']), 'b'],
  ['a condition', z.looseObject({}).refine(() => false), {}],
  ['a number that is none', z.number(), Number.NaN],
  ['a required field', z.looseObject({ a: z.unknown() }), {}],
])('a schema with %s is left to zod', (_what, schema, value) => {
  expect(isPlainShape(schema, value)).toBe(false);
});
