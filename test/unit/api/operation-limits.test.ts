import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../../src/api/client.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import { createTransport, type SendOptions, type WireOptions } from '../../../src/api/transport.js';
import { examples } from '../../support/api/examples.js';

// No server listens here, so a call that is not refused before sending would fail with another error.
const baseUrl = 'http://127.0.0.1:9';

/** The field for which a request is refused before sending, and the message; null if the request is sent. */
function refusal(name: OperationName, input: object, call: SendOptions = {}, options: WireOptions = {}) {
  const transport = createTransport({ baseUrl, apiKey: null, ...options });
  try {
    transport.check(operationTable[name] as never, input as never, call);
    return null;
  } catch (error) {
    const { field, message, verdict } = error as { field: string; message: string; verdict: object };
    expect(verdict).toMatchObject({ type: 'InvalidRequest', retry: false, charged: 'never' });
    return { field, message };
  }
}

type Row = readonly [OperationName, object, string, string];
const page = 'https://a.example';
const list = (count: number) => Array.from({ length: count }, (_, index) => `${page}/${index}`);

describe('before sending', () => {
  test.each<Row>([
    ['search', { query: ' \n' }, 'query', 'query: must be a text that is not empty (got "")'],
    ['search', { query: 'q', numResults: 0 }, 'numResults', 'must be a whole number of at least 1 (got 0)'],
    ['search', { query: 'q', numResults: 1.5 }, 'numResults', 'a whole number'],
    ['search', { query: 'q', numResults: '10' }, 'numResults', 'expected number'],
    ['search', { query: 'q', startPublishedDate: 'yesterday' }, 'startPublishedDate', 'ISO 8601'],
    ['search', { query: 'q', endCrawlDate: '2026-13-01' }, 'endCrawlDate', 'ISO 8601'],
    ['search', { query: 'q', startCrawlDate: '2024-02-30' }, 'startCrawlDate', 'ISO 8601'],
    [
      'search',
      { query: 'q', contents: { highlights: { numSentences: 0 } } },
      'contents.highlights.numSentences',
      'at least 1 (got 0)',
    ],
    ['search', { query: 'q', contents: { extras: { links: -1 } } }, 'contents.extras.links', 'at least 0'],
    ['search', { query: 'q', stream: true }, 'stream', 'use the streamed form'],
    ['search', { query: 'q', outputSchema: { type: 'banana' } }, 'outputSchema.type', 'boolean, null, text'],
    ['getContents', {}, 'urls', 'is missing'],
    ['getContents', { urls: [] }, 'urls', 'at least 1 entry'],
    ['getContents', { urls: [page], ids: ['x'] }, 'ids', 'must not be combined with urls'],
    ['getContents', { urls: [page, ''] }, 'urls[1]', 'not empty'],
    ['getContents', { urls: [page], text: { maxCharacters: 0 } }, 'text.maxCharacters', 'at least 1'],
    ['getContents', { urls: [page], maxAgeHours: -2 }, 'maxAgeHours', 'at least -1'],
    ['getContents', { urls: [page], snapshotAsOf: 'x' }, 'snapshotAsOf', 'ISO 8601'],
    ['getContents', { urls: [page], summary: { schema: { type: 'b' } } }, 'summary.schema.type', '"b"'],
    ['answer', { query: 'q', outputSchema: { type: 'banana' } }, 'outputSchema.type', '"banana"'],
    ['answer', {}, 'query', 'query'],
    ['findSimilar', { url: '' }, 'url', 'not empty'],
    ['createResearchTask', {}, 'input', 'input'],
    ['createResearchTask', { input: { instructions: '' } }, 'input.instructions', 'not empty'],
    ['createMonitor', { name: 'x' }, 'search', 'search'],
    ['createMonitor', { search: { query: '' } }, 'search.query', 'not empty'],
    ['createMonitor', { search: { query: 'q' }, outputSchema: { type: 'b' } }, 'outputSchema.type', '"b"'],
    ['updateMonitor', { id: 'm', search: { numResults: 0 } }, 'search.numResults', 'at least 1'],
    ['listMonitors', { limit: 0 }, 'limit', 'at least 1'],
    ['batchMonitors', { action: 'pause', filter: {} }, 'filter', 'at least 1 field'],
    ['batchMonitors', { action: 'explode', filter: { name: 'x' } }, 'action', 'delete'],
    ['createAgentRun', { query: '' }, 'query', 'not empty'],
    ['createAgentRun', { query: 'q', budget: { maxCostDollars: 0 } }, 'budget.maxCostDollars', 'above 0'],
    ['createAgentRun', { query: 'q', input: { data: ['row'] } }, 'input.data[0]', 'expected object'],
    ['createAgentRun', { query: 'q', outputSchema: { type: ['null', 5] } }, 'outputSchema.type', 'got 5'],
    ['listEvents', { cursor: '' }, 'cursor', 'not empty'],
    ['listEvents', { createdAfter: '2026-02-30T25:00:00Z' }, 'createdAfter', 'ISO 8601'],
    ['listEvents', { types: 'webset.idle' }, 'types', 'expected array'],
    ...(
      [
        [{ properties: [] }, 'properties', 'an object of schemas (got a list)'],
        [{ properties: { a: 'string' } }, 'properties.a', 'a JSON Schema, an object (got "string")'],
        [{ properties: { a: { type: 'text' } } }, 'properties.a.type', 'got "text"'],
        [{ type: 'array', items: { type: 'strin' } }, 'items.type', 'got "strin"'],
        [{ items: 'string' }, 'items', 'got "string"'],
        [{ anyOf: [{}, { type: 'x' }] }, 'anyOf[1].type', 'got "x"'],
        [{ allOf: {} }, 'allOf', 'a list of schemas (got an object)'],
        [{ $defs: { a: { not: { type: 'y' } } } }, '$defs.a.not.type', 'got "y"'],
        [{ required: 'name' }, 'required', 'a list of names (got "name")'],
        [{ properties: { '\ud83d': {} } }, 'properties', 'without NUL and half of a character'],
      ] as const
    ).map(
      ([outputSchema, field, message]): Row => [
        'createAgentRun',
        { query: 'q', outputSchema },
        `outputSchema.${field}`,
        message,
      ],
    ),
  ])('%s %j is refused: it cannot be meant', (name, input, field, message) => {
    const found = refusal(name, input);
    expect(found?.field).toBe(field);
    expect(found?.message).toContain(message);
  });

  test.each<readonly [OperationName, object]>([
    ['search', { query: 'q', numResults: 1000, includeDomains: list(1300) }],
    ['search', { query: 'q', includeText: ['one two three four five six', 'seven'] }],
    ['search', { query: 'q', additionalQueries: ['a'], type: 'deep-lite' }],
    ['search', { query: 'q', additionalQueries: list(11) }],
    ['search', { query: 'q', userLocation: { latitude: 1, longitude: 2 }, type: 'brand-new', category: 'blogs' }],
    ['search', { query: 'q', category: 'people', startPublishedDate: '2026-01-31T10:00:00.000001+00:00' }],
    ['search', { query: 'q', contents: { livecrawl: 'always', maxAgeHours: 1000, text: { maxCharacters: 1e7 } } }],
    ['search', { query: 'q', objective: 'x'.repeat(5000), outputSchema: { properties: {}, required: ['a'] } }],
    ['search', { query: 'q', numResults: null, contents: { text: null }, type: null }],
    ['getContents', { urls: list(150), subpages: 50 }],
    ['getContents', { urls: ['a.example', `${page}/${'x'.repeat(3000)}`] }],
    ['findSimilar', { url: 'a.example' }],
    ['createResearchTask', { input: { instructions: 'x'.repeat(5000) } }],
    ['createMonitor', { search: { query: 'q' }, trigger: { type: 'interval', period: '30m' }, metadata: { a: [1] } }],
    ['createAgentRun', { query: 'q', effort: 'low', budget: { maxCostDollars: 500 }, metadata: { a: { b: null } } }],
    ['createAgentRun', { query: 'q', effort: 'gigantic', previousRunId: 'a b', metadata: 'any JSON' }],
    ['listMonitors', { limit: 500, name: 'x'.repeat(300) }],
    ['listEvents', { limit: 500, types: ['webset.brand.new'] }],
  ])('%s %j is left to the service', (name, input) => {
    expect(refusal(name, input)).toBeNull();
  });

  test.each<readonly [OperationName, object, string, string]>([
    ['createAgentRun', { query: 'q', effort: 'xxhigh' }, 'effort', 'effort is "xxhigh"; did you mean xhigh?'],
    ['search', { query: 'q', type: 'neural2' }, 'type', 'did you mean neural?'],
    [
      'getContents',
      { urls: ['https://a.example'], url: 'x' },
      'url',
      'url is not a field of contents; did you mean urls? To',
    ],
    ['search', { query: 'q', numResult: 5 }, 'numResult', 'did you mean numResults?'],
    ['search', { query: 'q', additionalQuerys: ['r'] }, 'additionalQuerys', 'did you mean additionalQueries?'],
    ['search', { query: 'q', contents: { text: { verbosity: 'compat' } } }, 'contents.text.verbosity', 'compact?'],
    ['search', { query: 'q', contents: { livecrawl: 'allways' } }, 'contents.livecrawl', 'always?'],
    ['search', { query: 'q', text: true }, 'text', 'text is a field of contents, answer, not of search.'],
    ['createAgentRun', { query: 'q', budget: { maxCost: 5 } }, 'budget.maxCost', 'did you mean budget.maxCostDollars?'],
    ['search', { query: 'q', additionalQuery: ['r'] }, 'additionalQuery', 'did you mean additionalQueries?'],
    [
      'search',
      { query: 'q', outputSchema: { type: 'object', propertis: {} } },
      'outputSchema.propertis',
      'did you mean properties?',
    ],
    ['search', { query: 'q', livecrwl: 'always' }, 'livecrwl', 'did you mean livecrawl of another operation?'],
    [
      'search',
      { query: 'q', userLocation: { contry: 'us' } },
      'userLocation.contry',
      'did you mean userLocation.country?',
    ],
    ['getContents', { urls: [page], effort: 'low' }, 'effort', 'createAgentRun, not of contents'],
    ['createMonitor', { search: { query: 'q' }, trigger: { type: 'intervall' } }, 'trigger.type', 'interval?'],
    ['answer', { query: 'q', extraHeader: {} }, 'extraHeader', 'belongs to the options'],
  ])('%s %j is refused as misspelt, unless it is sent unchecked', (name, input, field, message) => {
    const found = refusal(name, input);
    expect(found?.field).toBe(field);
    expect(found?.message).toContain(message);
    expect(found?.message).toContain('unchecked: true');
    expect(refusal(name, input, { unchecked: true })).toBeNull();
    expect(refusal(name, input, {}, { unchecked: true })).toBeNull();
  });

  test.each(Object.keys(operationTable) as OperationName[])(
    '%s refuses a value of a wrong type in each known field',
    (name) => {
      const { input } = examples[name];
      const { properties = {} } = z.toJSONSchema(operationTable[name].request, { io: 'input', unrepresentable: 'any' });
      // Metadata are any JSON.
      const fields = Object.keys(properties).filter((field) => field !== 'metadata');
      expect(fields.length).toBeGreaterThan(0);
      for (const field of fields) {
        const fits = (value: unknown) => operationTable[name].request.safeParse({ ...input, [field]: value }).success;
        const wrong = [7, 'x', true, [[]], { a: [] }].filter((value) => !fits(value));
        expect([field, wrong.length > 2]).toEqual([field, true]);
        for (const value of wrong) {
          const found = refusal(name, { ...input, [field]: value })?.field;
          expect([field, found?.split(/[.[]/)[0]]).toEqual([field, field]);
        }
      }
    },
  );

  const byId = (Object.keys(operationTable) as OperationName[]).filter((name) =>
    operationTable[name].path.includes('{'),
  );
  test.each(byId.flatMap((name) => ['', ' ', '.', '..', '\ud800'].map((id) => [name, id] as const)))(
    '%s refuses %j as an id',
    (name, id) => {
      const [field = ''] = operationTable[name].path.match(/(?<=\{)\w+(?=\})/g) ?? [];
      expect(refusal(name, { ...examples[name].input, [field]: id })).toMatchObject({ field });
    },
  );

  test('every ordinary request is sent', () => {
    for (const name of Object.keys(operationTable) as OperationName[])
      expect([name, refusal(name, examples[name].input)]).toEqual([name, null]);
  });
  test('a research task in another form than the contract is refused', () => {
    expect(refusal('createResearchTask', { instructions: 'i' })?.field).toBe('input');
  });

  test('a body for a call without one, and a query with nested objects, are refused', async () => {
    const client = createClient({ apiKey: null, baseUrl });
    await expect(client.getMonitor({ id: 'm' }, { extraBody: { a: 1 } })).rejects.toThrow(
      'extraBody: a GET has no body',
    );
    await expect(client.listWebsets({ a: { b: { c: 1 } } })).rejects.toThrow(
      'a[b]: a value of this type has no form in a query',
    );
    await client.close();
  });
});
