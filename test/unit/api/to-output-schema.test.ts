import { expect, it } from 'vitest';
import { z } from 'zod';
import { toOutputSchema } from '../../../src/api/schemas/to-output-schema.js';

it('toOutputSchema makes the JSON Schema of the input that a zod schema accepts', () => {
  const schema = z.object({
    name: z.string(),
    site: z.url().optional(),
    people: z.array(z.object({ email: z.email() })),
  });
  expect(toOutputSchema(schema)).toMatchObject({
    type: 'object',
    properties: {
      name: { type: 'string' },
      site: { type: 'string', format: 'uri' },
      people: { type: 'array', items: { properties: { email: { type: 'string', format: 'email' } } } },
    },
    required: ['name', 'people'],
  });
  expect(toOutputSchema(z.object({ year: z.string().transform(Number) }))).toMatchObject({
    properties: { year: { type: 'string' } },
  });
});

it('toOutputSchema refuses types that JSON Schema cannot express', () => {
  expect(() => toOutputSchema(z.object({ founded: z.date() }))).toThrow('Date');
});
