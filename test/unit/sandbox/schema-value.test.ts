import { expect, test } from 'vitest';
import { z } from 'zod';
import { schemaProblem, schemaValue } from '../../../src/sandbox/pages/schema-value.js';

const company = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, site: { $ref: '#/$defs/site' } },
};

test.each<[string, Record<string, unknown>]>([
  [
    'bounded numbers',
    {
      type: 'object',
      properties: {
        a: { type: 'integer', minimum: -5, maximum: -3 },
        b: { type: 'number', exclusiveMinimum: 1, maximum: 1.05 },
      },
    },
  ],
  ['bounded lists', { type: 'array', minItems: 2, maxItems: 4, items: { type: 'integer', multipleOf: 7 } }],
  ['no item at all', { type: 'array', maxItems: 0, items: { type: 'string' } }],
  [
    'formats',
    {
      type: 'object',
      properties: Object.fromEntries(
        ['uri', 'email', 'date', 'date-time', 'uuid', 'ipv4', 'ipv6', 'time', 'duration'].map((format) => [
          format.replace('-', ''),
          { type: 'string', format },
        ]),
      ),
    },
  ],
  [
    'lengths',
    { type: 'object', properties: { a: { type: 'string', maxLength: 5 }, b: { type: 'string', minLength: 300 } } },
  ],
  [
    'patterns',
    {
      type: 'object',
      properties: {
        a: { type: 'string', pattern: '^[A-Z]{2}-\\d{3,5}$' },
        b: { type: 'string', pattern: '^v\\d+\\.\\d+$' },
      },
    },
  ],
  [
    'null or a value',
    {
      type: ['null', 'object'],
      properties: { a: { anyOf: [{ type: 'null' }, { type: 'boolean' }] } },
      required: ['a'],
    },
  ],
  ['required without a property', { type: 'object', required: ['x', 'y'], additionalProperties: { type: 'integer' } }],
  [
    'references',
    {
      type: 'object',
      properties: { list: { type: 'array', minItems: 1, items: { $ref: '#/$defs/company' } } },
      required: ['list'],
      $defs: { company, site: { type: 'string', format: 'uri' } },
    },
  ],
  [
    'all of',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { type: 'object', properties: { b: { const: 'x' } }, required: ['b'] },
      ],
    },
  ],
  ['any names', { type: 'object', minProperties: 2, additionalProperties: { type: 'integer' } }],
  ['names of a pattern', { patternProperties: { '^a': { type: 'integer' } }, required: ['abc'] }],
  ['an enum', { type: 'object', properties: { kind: { enum: ['a', 'b', 3] } }, required: ['kind'] }],
])('a value is made for %s', (_, schema) => {
  expect(schemaProblem(schema)).toBeNull();
  const judge = z.fromJSONSchema(schema as never);
  for (let hash = 0; hash < 200; hash += 1) {
    const value = schemaValue(schema, hash * 7919);
    const { error } = judge.safeParse(value);
    expect(error, JSON.stringify(value)).toBeUndefined();
  }
});

test('required names without a definition are made up, with values of their pattern', () => {
  const counted = { type: 'object', minProperties: 2, additionalProperties: { type: 'integer' } };
  expect(Object.values(schemaValue(counted, 1) as object)).toEqual([expect.any(Number), expect.any(Number)]);
  const named = { patternProperties: { '^a': { type: 'integer' } }, required: ['abc'] };
  expect(schemaValue(named, 1)).toEqual({ abc: expect.any(Number) });
});

test('a recursive schema ends', () => {
  const node = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, next: { $ref: '#' } } };
  expect(schemaValue(node, 1)).toMatchObject({ next: { next: { name: expect.any(String) } } });
  expect(JSON.stringify(schemaValue(node, 1)).length).toBeLessThan(10_000);
});

test.each([
  [{ type: 'thing' }, '#/type'],
  [{ type: 'object', properties: { a: { minimum: 3, maximum: 1 } } }, '#/properties/a'],
  [{ type: 'array', items: { enum: [] } }, '#/items/enum'],
  [{ type: 'object', required: 'a' }, '#/required'],
  [{ type: 'object', properties: { t: { not: { type: 'string' } } } }, '#/properties/t/not'],
  [{ type: 'object', additionalProperties: { if: {} } }, '#/additionalProperties/if'],
  [{ type: 'object', patternProperties: { '(': {} } }, '#/patternProperties'],
  [{ type: 'object', minProperties: 1, additionalProperties: false }, '#'],
  [{ $ref: '#/$defs/none' }, '#/$ref'],
  [{ anyOf: [{ type: 'string', minLength: 3, maxLength: 2 }] }, '#/anyOf/0'],
])('the problem in %j is reported with its position', (schema, position) => {
  expect(schemaProblem(schema)).toContain(`${position}:`);
});
