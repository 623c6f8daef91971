import { expect, it } from 'vitest';
import { limitNotes } from '../../../src/worker/staging/quote.js';

const notes = (options: Record<string, unknown>, template?: Record<string, string>) =>
  limitNotes({ operation: 'search', options, template } as unknown as Parameters<typeof limitNotes>[0]);

it.each([
  [{ numResults: 101 }, 'numResults asks for 101 results; the documented limit is 100.'],
  [{ includeDomains: Array(1201).fill('a.example') }, 'includeDomains asks for 1201 domains;'],
  [{ excludeText: ['a', 'b'] }, 'excludeText asks for 2 texts; the documented limit is 1.'],
  [{ includeText: [' six words are more than five '] }, 'includeText asks for 6 words; the documented limit is 5.'],
  [{ newField: 1 }, 'Fields that this version does not know are sent unchanged: newField.'],
])('the plan has a note about %j', (options, said) => {
  expect(notes(options)).toEqual([expect.stringContaining(said)]);
});

it('the plan has no note about a request within the limits, and one about fields of the template, too', () => {
  const within = { numResults: 100, includeText: ['one two three four five'], includeDomains: ['a.example'] };
  expect(notes(within, { query: '{{name}}' })).toEqual([]);
  expect(notes({}, { query: '{{name}}', newField: '{{x}}' })).toEqual([expect.stringContaining('newField')]);
});

it('the plan has a note about a schema that is rendered for each row', () => {
  expect(notes({}, { query: '{{name}}', outputSchema: '{"description":"of {{name}}"}' })).toEqual([
    expect.stringContaining('no columns'),
  ]);
});
