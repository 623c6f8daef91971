import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type LimitProfile, limitProfiles } from '../../../src/api/checks/limits.js';
import { createClient } from '../../../src/api/client.js';
import { type OperationName, operationTable } from '../../../src/api/operations.js';
import { createTransport } from '../../../src/api/transport.js';
import { examples } from '../../support/api/examples.js';

// No server listens here, so a call that is not refused before sending would fail with another error.
const baseUrl = 'http://127.0.0.1:9';

/** The field for which a request is refused before sending, and the message; null if the request is sent. */
function refusal(name: OperationName, input: object, profile: LimitProfile, variant?: string) {
  const transport = createTransport({ baseUrl, apiKey: null, profile });
  try {
    transport.check(operationTable[name] as never, input as never, { variant });
    return null;
  } catch (error) {
    const { field, message, verdict } = error as { field: string; message: string; verdict: object };
    expect(verdict).toMatchObject({ type: 'InvalidRequest', retry: false, charged: 'never' });
    return { field, message };
  }
}

type Row = readonly [OperationName, object, LimitProfile, string, string];
const monitor = { search: { query: 'q' }, webhook: { url: 'https://h.example' } };
const schema = (count: number) => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}])),
});

describe('before sending', () => {
  test.each<Row>([
    ['search', { query: 'q', objective: 'x'.repeat(4097) }, 'live', 'objective', 'has 4097 characters; at most 4096'],
    ['search', { query: 'q', outputSchema: schema(11) }, 'live', 'outputSchema', 'has 11 properties; at most 10'],
    ['search', { query: 'q', contents: { subpageTarget: ['x'.repeat(101)] } }, 'live', 'contents.subpageTarget', '100'],
    [
      'getContents',
      { urls: ['https://a.example'], subpageTarget: Array(101).fill('a') },
      'live',
      'subpageTarget',
      '101',
    ],
    ['answer', { query: ' ' }, 'contract', 'query', 'query is empty; at least 1 character (profile contract)'],
    ['answer', { query: 'q', userLocation: 'DEU' }, 'contract', 'userLocation', 'two-letter'],
    ['answer', { query: 'q', stream: true }, 'contract', 'stream', 'use the streamed form'],
    ['answer', {}, 'contract', 'query', 'query'],
    ['findSimilar', { url: 'a.example' }, 'contract', 'url', 'it must be an http or https URL'],
    ['findSimilar', { url: 'https://a.example', numResults: 0 }, 'contract', 'numResults', 'at least 1'],
    ['createResearchTask', {}, 'contract', 'input', 'input.instructions is required'],
    ['createResearchTask', { input: { instructions: '' } }, 'contract', 'input.instructions', 'is empty'],
    ['createResearchTask', { input: { instructions: 'x'.repeat(4097) } }, 'live', 'input.instructions', 'at most 4096'],
    ['createMonitor', { name: 'x' }, 'contract', 'search', 'search'],
    ['createMonitor', { search: { query: '' } }, 'contract', 'search.query', 'is empty'],
    ['createMonitor', { search: { query: 'q', numResults: 101 } }, 'contract', 'search.numResults', 'at most 100'],
    ['createMonitor', { search: { query: 'q' } }, 'live', 'webhook', 'is missing'],
    ['createMonitor', { ...monitor, webhook: { url: 'http://h' } }, 'live', 'webhook.url', 'HTTPS only'],
    ['createMonitor', { ...monitor, trigger: { type: 'interval', period: '30m' } }, 'live', 'trigger.period', '"30m"'],
    ['createMonitor', { ...monitor, metadata: { a: 1 } }, 'contract', 'metadata.a', 'expected string'],
    ['updateMonitor', { id: 'm', search: { numResults: 0 } }, 'contract', 'search.numResults', 'at least 1'],
    ['listMonitors', { limit: 101 }, 'contract', 'limit', 'limit is 101; at most 100 (profile contract)'],
    ['listMonitors', { limit: 0 }, 'contract', 'limit', 'at least 1'],
    ['listMonitors', { limit: 1.5 }, 'live', 'limit', 'a whole number'],
    ['listMonitors', { name: 'x'.repeat(251) }, 'contract', 'name', 'has 251 characters; at most 250'],
    ['listMonitors', { metadata: { a: { b: 'c' } } }, 'contract', 'metadata.a', 'expected string'],
    ['batchMonitors', { action: 'pause', filter: {} }, 'contract', 'filter', 'at least 1 field'],
    ['batchMonitors', { action: 'pause', filter: { name: 'x' }, limit: 501 }, 'live', 'limit', 'at most 500'],
    ['batchMonitors', { filter: { status: 'x' } }, 'contract', 'action', 'expected string'],
    [
      'batchMonitors',
      { action: 'explode', filter: { name: 'x' } },
      'contract',
      'action',
      '"explode"; it must be one of delete',
    ],
    ['listEvents', { createdAfter: '2024-02-30T00:00:00Z' }, 'contract', 'createdAfter', 'ISO 8601'],
    ['search', { query: 'q', startCrawlDate: '2024-02-30' }, 'contract', 'startCrawlDate', 'ISO 8601'],
    ['createMonitor', { ...monitor, trigger: { type: 'interval', period: '1x' } }, 'live', 'trigger.period', '"1x"'],
    [
      'batchMonitors',
      { action: 'pause', filter: { metadata: { k: 'x'.repeat(1001) } } },
      'live',
      'filter.metadata.k',
      'at most 1000',
    ],
    ['listMonitorRuns', { id: 'm', limit: 101 }, 'contract', 'limit', 'at most 100'],
    ['createAgentRun', { query: '' }, 'contract', 'query', 'is empty'],
    [
      'createAgentRun',
      { query: 'q', dataSources: Array(6).fill({ provider: 'p' }) },
      'live',
      'dataSources',
      'at most 5',
    ],
    ['createAgentRun', { query: 'q', effort: 'low', budget: { maxCostDollars: 2 } }, 'live', 'budget', 'effort "low"'],
    ['search', { query: 'q', context: { maxCharacters: 10_001 } }, 'live', 'context.maxCharacters', 'at most 10000'],
    [
      'search',
      { query: 'q', contents: { livecrawl: 'always', maxAgeHours: 1 } },
      'live',
      'contents.livecrawl',
      'only one of them',
    ],
    ['getContents', { urls: ['https://a.example'], snapshotAsOf: 'x' }, 'live', 'snapshotAsOf', 'ISO 8601'],
    [
      'getContents',
      { urls: ['https://a.example'], snapshotAsOf: '2026-01-01', subpages: 1 },
      'live',
      'subpages',
      'is combined with snapshotAsOf',
    ],
    ['createAgentRun', { query: 'q', previousRunId: 'a b' }, 'live', 'previousRunId', 'it must be a run id'],
    ['createAgentRun', { query: 'q', budget: { maxCostDollars: 101 } }, 'live', 'budget.maxCostDollars', 'at most 100'],
    ['createAgentRun', { query: 'q', input: { data: ['row'] } }, 'contract', 'input.data[0]', 'expected object'],
    [
      'createAgentRun',
      { query: 'q', outputSchema: { type: 'banana' } },
      'contract',
      'outputSchema.type',
      'outputSchema.type is "banana"; it must be one of object, array, string, integer, number, boolean, null',
    ],
    [
      'answer',
      { query: 'q', outputSchema: { properties: { a: { properties: { 'na\0me': {} } } } } },
      'live',
      'outputSchema.properties.a.properties',
      'has the name "na',
    ],
    [
      'createAgentRun',
      { query: 'q', outputSchema: { properties: { '\ud83d': {} } } },
      'contract',
      'outputSchema.properties',
      'a name has no NUL and no half of a character',
    ],
    ['createAgentRun', { query: 'q', outputSchema: { type: 'text' } }, 'live', 'outputSchema.type', 'is "text"'],
    ['createAgentRun', { query: 'q', outputSchema: { type: ['null', 5] } }, 'live', 'outputSchema.type', 'is 5'],
    ...(
      [
        [{ properties: [] }, 'properties', 'is a list; it must be an object of schemas'],
        [{ properties: { a: 'string' } }, 'properties.a', 'is "string"; it must be a JSON Schema'],
        [{ properties: { a: { type: 'text' } } }, 'properties.a.type', 'is "text"'],
        [{ type: 'array', items: { type: 'strin' } }, 'items.type', 'is "strin"'],
        [{ items: 'string' }, 'items', 'is "string"; it must be a JSON Schema'],
        [{ anyOf: [{}, { type: 'x' }] }, 'anyOf[1].type', 'is "x"'],
        [{ allOf: {} }, 'allOf', 'is an object; it must be a list of schemas'],
        [{ $defs: { a: { not: { type: 'y' } } } }, '$defs.a.not.type', 'is "y"'],
        [{ required: 'name' }, 'required', 'is "name"; it must be a list of names'],
      ] as const
    ).map(([outputSchema, field, message]): [OperationName, object, LimitProfile, string, string] => [
      'createAgentRun',
      { query: 'q', outputSchema },
      'contract',
      `outputSchema.${field}`,
      message,
    ]),
    [
      'search',
      { query: 'q', outputSchema: { type: 'banana' } },
      'contract',
      'outputSchema.type',
      'boolean, null, text',
    ],
    ['answer', { query: 'q', outputSchema: { type: 'banana' } }, 'contract', 'outputSchema.type', 'is "banana"'],
    ['createMonitor', { ...monitor, outputSchema: { type: 'b' } }, 'contract', 'outputSchema.type', 'is "b"'],
    [
      'createResearchTask',
      { input: { instructions: 'i' }, output: { schema: { type: 'b' } } },
      'contract',
      'output.schema.type',
      'is "b"',
    ],
    [
      'getContents',
      { urls: ['https://a.example'], summary: { schema: { type: 'b' } } },
      'contract',
      'summary.schema.type',
      'is "b"',
    ],
    [
      'getContents',
      { urls: ['https://a.example'], livecrawl: 'maybe' },
      'contract',
      'livecrawl',
      'livecrawl is "maybe"; it must be one of never, fallback, always, preferred, auto',
    ],
    ['listAgentRuns', { limit: 101 }, 'contract', 'limit', 'at most 100'],
    ['listAgentRunEvents', { id: 'r', limit: 101 }, 'contract', 'limit', 'at most 100'],
    ['listEvents', { limit: 201 }, 'contract', 'limit', 'limit is 201; at most 200'],
    ['listEvents', { cursor: '' }, 'contract', 'cursor', 'is empty'],
    ['listEvents', { createdBefore: 'now' }, 'contract', 'createdBefore', 'ISO 8601'],
    ['listEvents', { createdAfter: '2026-02-30T25:00:00Z' }, 'contract', 'createdAfter', 'ISO 8601'],
    ['listEvents', { types: 'webset.idle' }, 'contract', 'types', 'expected array'],
    ['listWebsets', { limit: 101 }, 'contract', 'limit', 'at most 100'],
    ['listWebsetItems', { id: 'w', limit: 101 }, 'contract', 'limit', 'at most 100'],
  ])('%s %j is refused by profile %s', (name, input, profile, field, message) => {
    const found = refusal(name, input, profile);
    expect(found?.field).toBe(field);
    expect(found?.message).toContain(message);
  });

  test.each(Object.keys(operationTable) as OperationName[])(
    '%s refuses a value of a wrong type in each known field',
    (name) => {
      const { input } = examples[name];
      const { properties = {} } = z.toJSONSchema(operationTable[name].request, { io: 'input', unrepresentable: 'any' });
      const fields = Object.keys(properties);
      expect(fields.length).toBeGreaterThan(0);
      for (const field of fields) {
        const fits = (value: unknown) => operationTable[name].request.safeParse({ ...input, [field]: value }).success;
        const wrong = [7, 'x', true, [[]], { a: [] }].filter((value) => !fits(value));
        expect([field, wrong.length > 2]).toEqual([field, true]);
        for (const value of wrong) {
          const found = refusal(name, { ...input, [field]: value }, 'contract')?.field;
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
      expect(refusal(name, { ...examples[name].input, [field]: id }, 'contract')).toMatchObject({ field });
    },
  );

  test.each(Object.keys(limitProfiles) as LimitProfile[])('profile %s takes every ordinary request', (profile) => {
    for (const name of Object.keys(operationTable) as OperationName[]) {
      expect([name, refusal(name, examples[name].input, profile)]).toEqual([name, null]);
    }
  });

  test('the live service accepts more than the contract, and says so', () => {
    const located = { query: 'q', userLocation: { country: 'DE' } };
    expect([refusal('answer', located, 'contract')?.field, refusal('answer', located, 'live')]).toEqual([
      'userLocation',
      null,
    ]);
    expect(refusal('createMonitor', { search: { query: 'q' } }, 'contract')).toBeNull();
    expect(refusal('search', { query: 'q', outputSchema: schema(11) }, 'contract')).toBeNull();
    const deep = { type: 'object', ...schema(1) };
    const three = { properties: { a: { properties: { b: { type: 'array', items: deep } } } } };
    expect(refusal('search', { query: 'q', outputSchema: three }, 'live')?.message).toContain('has 3 levels');
  });

  test('other forms of research require their own fields', () => {
    for (const variant of ['v0', 'v1']) {
      expect(refusal('createResearchTask', { input: { instructions: 'i' } }, 'contract', variant)?.field).toBe(
        'instructions',
      );
      expect(refusal('createResearchTask', { instructions: 'i' }, 'contract', variant)).toBeNull();
    }
    expect(refusal('createResearchTask', { instructions: 'i' }, 'contract', 'v7')?.message).toContain(
      'no variant of that name',
    );
    expect(refusal('search', { query: 'q' }, 'contract', 'v0')?.field).toBe('variant');
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
