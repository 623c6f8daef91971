import { expect, it } from 'vitest';
import { emptyAnswers } from '../../../src/activities/rows/empty-answers.js';
import { type Json, RawJson } from '../../../src/core/text/json.js';

const schema = { outputSchema: { type: 'object', properties: {} } };

it.each<[operation: string, options: { [name: string]: Json }, answer: Json, isEmpty: boolean]>([
  ['contents', { text: true }, { url: 'https://a.example', text: ' ' }, true],
  ['contents', { text: true }, { url: 'https://a.example', text: 'a', summary: '' }, false],
  ['contents', { extras: {} }, { url: 'https://a.example', extras: {} }, false],
  ['contents', { text: true }, null, false],
  ['search', {}, { results: [] }, true],
  ['search', {}, { results: [{ url: 'https://a.example' }] }, false],
  ['search', schema, { results: [{}], output: { content: { name: null } } }, true],
  ['answer', {}, { answer: '' }, true],
  ['answer', schema, { answer: { name: null, years: [] } }, true],
  ['answer', schema, { answer: { name: null, is_open: false } }, false],
  ['agent', {}, { output: null }, true],
  ['agent', {}, { output: { text: 'Ada' } }, false],
  ['agent', schema, { output: { text: 'Nothing was found', structured: { ceo: null } } }, true],
  ['agent', schema, { output: { structured: { rows: [{ row_id: '1', ceo: null }] } } }, true],
  ['agent', schema, { output: { structured: { rows: [{ row_id: '1', ceo: 'Ada' }] } } }, false],
])('%s with %j: %j', (operation, options, answer, isEmpty) => {
  const find = emptyAnswers({ operation, options });
  expect([find({ result: answer }), find({ result: new RawJson(JSON.stringify(answer)) })]).toEqual([isEmpty, isEmpty]);
});

it('an answer that is not JSON has content', () => {
  expect(emptyAnswers({ operation: 'agent', options: {} })({ result: new RawJson('{') })).toBe(false);
});
