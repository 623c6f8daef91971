import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawResults } from '../../../src/activities/call/landing.js';
import { elementsOf, rawJson } from '../../../src/api/checks/members.js';
import { listAgentRunEventsEndpoint, listAgentRunsEndpoint } from '../../../src/api/endpoints/agent-runs.js';
import { answerEndpoint } from '../../../src/api/endpoints/answer.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { listEventsEndpoint } from '../../../src/api/endpoints/events.js';
import { matchContents } from '../../../src/api/endpoints/match.js';
import {
  createMonitorEndpoint,
  getMonitorEndpoint,
  getMonitorRunEndpoint,
  listMonitorRunsEndpoint,
  listMonitorsEndpoint,
} from '../../../src/api/endpoints/monitors.js';
import { searchEndpoint } from '../../../src/api/endpoints/search.js';
import { listWebsetItemsEndpoint } from '../../../src/api/endpoints/websets.js';
import type { Transport } from '../../../src/api/transport.js';
import type { Endpoint } from '../../../src/api/wire/endpoint.js';
import { jsonText } from '../../../src/core/text/json.js';
import { transportTo } from '../../support/api/transport-to.js';

let transport: Transport;
let close: () => Promise<void>;
let body = '';
const warned: string[] = [];
beforeAll(async () => {
  ({ transport, close } = await transportTo(
    (_request, response) => response.end(body),
    ({ message }) => warned.push(message),
  ));
});
afterAll(() => close());

const urls = ['https://a.example/', 'https://b.example/'];
async function contents(results: string, more = '') {
  body = `{"results":${results}${more}}`;
  const answer = await transport.send(contentsEndpoint, { urls });
  const { units } = matchContents(urls, answer.data, { raw: rawResults(answer) ?? [], misread: answer.misread });
  return {
    answer,
    units: units.map(({ status, errorTag, result, misread }) => ({
      status,
      errorTag,
      text: jsonText(result),
      misread,
    })),
  };
}

describe('fault 58: a field of another type', () => {
  it.each([
    ['"highlightScores":[null]', 'highlightScores[0]: expected number, received null'],
    ['"author":["a"]', 'author: expected string, received array'],
    ['"publishedDate":2020', 'publishedDate: expected string, received number'],
    ['"title":5', 'title: expected string, received number'],
    ['"extras":[]', 'extras: expected object, received array'],
    ['"subpages":[7]', 'subpages[0]: expected object, received number'],
    ['"highlights":"one"', 'highlights: expected array, received string'],
    [`"deep":${'['.repeat(600)}${']'.repeat(600)}`, 'more than 500 levels'],
  ])('%s removes that field of that result, and the result is kept unchanged', async (field, said) => {
    const other = '{"id":"https://b.example/","title":"B", "n":9007199254740993}';
    const own = `{"id":"https://a.example/","text":"A",${field}}`;
    const { units } = await contents(`[${own},\n ${other}]`);
    const kept = field.startsWith('"deep"') ? expect.stringMatching(/^\{"id":"https:..a.example.".*\[\]/) : own;
    expect(units[0]).toEqual({
      status: 'success',
      errorTag: null,
      text: kept,
      misread: expect.stringContaining(said),
    });
    expect(units[1]).toEqual({ status: 'success', errorTag: null, text: other, misread: undefined });
  });

  it('is null in the value for the caller, and all other fields are unchanged', async () => {
    const { answer } = await contents('[{"id":"https://a.example/","author":["a"],"x":{"y":[1]}},"no result"]');
    expect(answer.data.results).toEqual([{ id: 'https://a.example/', author: null, x: { y: [1] } }, {}]);
  });

  it('in the whole answer is reported for all units; a cost that is a plain number is used', async () => {
    const { answer, units } = await contents('[{"id":"https://a.example/"}]', ',"costDollars":0.007');
    expect(answer.costMicros).toBe(7000);
    expect(units.map(({ misread }) => misread)).toEqual(Array(2).fill('costDollars: expected object, received number'));
  });

  it.each([
    ['contents', '{"results":{"id":"https://a.example/"},"costDollars":{"total":1}}', 'results: expected a list'],
    [
      'contents',
      '{"results":null,"statuses":[{"id":"https://a.example/","status":"success"}]}',
      'results: expected a list',
    ],
    ['contents', '{"data":{"results":[]},"costDollars":{"total":1}}', 'results: expected a list'],
    ['search', '{"costDollars":{"total":1}}', 'results: expected a list'],
    ['answer', '{"answer":null,"citations":[]}', 'answer: expected'],
  ] as const)('makes an answer of %s unusable if it is what was bought: %s', async (name, text, said) => {
    body = text;
    const [endpoint, input] = {
      contents: [contentsEndpoint, { urls }],
      search: [searchEndpoint, { query: 'q' }],
      answer: [answerEndpoint, { query: 'q' }],
    }[name] as unknown as readonly [Endpoint<object, unknown>, object];
    await expect(transport.send(endpoint, input)).rejects.toMatchObject({
      verdict: { type: 'ResponseShape' },
      message: expect.stringContaining(said),
      body: text,
    });
  });

  it('does not matter in the results of an answer that names the errors of its URLs', async () => {
    const { units } = await contents(
      'null',
      ',"statuses":[{"id":"https://a.example/","status":"error","error":{"tag":"T"}}]',
    );
    expect(units.map(({ errorTag }) => errorTag)).toEqual(['T', 'MISSING_FROM_RESPONSE']);
  });

  it('in a status does not hide the result beside it', async () => {
    const statuses = ',"statuses":[{"id":"https://a.example/","status":3},{"status":"success"}]';
    const { units } = await contents('[{"id":"https://a.example/"}]', statuses);
    expect(units[0]).toMatchObject({ status: 'success', misread: 'status: expected string, received number' });
  });

  it('a list as an answer to a question reaches the caller', async () => {
    body = '{"answer":[{"a":1},"b"],"citations":[]}';
    expect((await transport.send(answerEndpoint, { query: 'q' })).data.answer).toEqual([{ a: 1 }, 'b']);
  });

  it('in a free list costs that field, not the page', async () => {
    body = '{"data":[{"id":"m","status":7,"search":"?","metadata":[1]},{"id":"n","name":"N"}]}';
    const { data, misread } = await transport.send(listMonitorsEndpoint, {});
    expect(data.data).toEqual([
      { id: 'm', status: null, search: null, metadata: null },
      { id: 'n', name: 'N' },
    ]);
    expect(misread.map(({ path }) => path.join('.'))).toEqual(['data.0.status', 'data.0.search', 'data.0.metadata']);
    body = '{"data":[{"id":"r","status":["?"],"costDollars":"free"}]}';
    expect((await transport.send(listAgentRunsEndpoint, {})).data.data).toEqual([
      { id: 'r', status: null, costDollars: null },
    ]);
    body = '{"data":[{"id":"e","type":7,"createdAt":null}],"hasMore":false,"nextCursor":null}';
    expect((await transport.send(listEventsEndpoint, {})).data.data).toEqual([
      { id: 'e', type: null, createdAt: null },
    ]);
  });

  it.each([
    ['listMonitors', listMonitorsEndpoint],
    ['listMonitorRuns', listMonitorRunsEndpoint],
    ['listAgentRuns', listAgentRunsEndpoint],
    ['listWebsetItems', listWebsetItemsEndpoint],
    ['listEvents', listEventsEndpoint],
  ] as const)('an entry of %s that cannot be read is left out and named, and reported once', async (name, endpoint) => {
    body = '{"data":[{"id":"a","x":1},{"name":"N"},7,{"id":"b"},{"id":5,"status":[]},null],"hasMore":false}';
    warned.length = 0;
    for (let times = 0; times < 2; times++) {
      const { data, misread } = await transport.send(endpoint as Endpoint<object, { data?: unknown }>, { id: 'i' });
      expect(data.data).toEqual([{ id: 'a', x: 1 }, { id: 'b' }]);
      expect(new Set(misread.map(({ path, isLost }) => isLost && path[1]))).toEqual(new Set([1, 2, 4, 5]));
    }
    expect(warned).toEqual([
      expect.stringContaining(`the answer of ${name} has odd fields: data[1].id: expected string`),
    ]);
    expect(warned[0]).toContain('data[2]: expected object, received number (the entry is left out)');
  });

  it('an event of a run that is no object is left out and named', async () => {
    body = '{"data":[{"id":1,"event":"a"},5,null,{"event":7}],"hasMore":false}';
    const { data, misread } = await transport.send(listAgentRunEventsEndpoint, { id: 'r' });
    expect(data.data).toEqual([{ id: 1, event: 'a' }, { event: null }]);
    expect(misread.filter(({ isLost }) => isLost).map(({ path }) => path[1])).toEqual([1, 2]);
  });

  it.each([
    ['{"data":[{"id":"a"}],"hasMore":true,"nextCursor":7}', 'nextCursor: expected string'],
    ['{"data":[{"id":"a"}],"nextCursor":{"after":"a"}}', 'nextCursor: expected string'],
    ['{"runs":[],"next_cursor":false}', 'nextCursor: expected string'],
    ['{"data":[{"id":"a"}],"hasMore":"yes"}', 'hasMore: expected boolean'],
    ['{"data":{"id":"a"}}', 'data: expected a list'],
    ['{"hasMore":false}', 'data: expected a list'],
  ])('a page whose end or list cannot be read is refused: %s', async (page, said) => {
    body = page;
    const refused = { verdict: { type: 'ResponseShape' }, message: expect.stringContaining(said) };
    await expect(transport.send(listMonitorsEndpoint, {})).rejects.toMatchObject(refused);
    await expect(transport.send(listEventsEndpoint, {})).rejects.toMatchObject(refused);
    if (page.includes('[')) await expect(transport.sendRawList(listEventsEndpoint, {})).rejects.toMatchObject(refused);
  });

  it('the id of a single record that cannot be read is that of the request', async () => {
    body = '{"id":7,"name":"N","status":[]}';
    const { data, misread } = await transport.send(getMonitorEndpoint, { id: 'm' });
    expect(data).toEqual({ id: 'm', name: 'N', status: null });
    expect(misread.map(({ path }) => path.join('.'))).toEqual(['id', 'status']);
    body = '{"status":"completed"}';
    const run = await transport.send(getMonitorRunEndpoint, { id: 'm', runId: 'r' });
    expect(run.data).toEqual({ id: 'r', status: 'completed' });
    body = '{"portal":1}';
    await expect(transport.send(getMonitorEndpoint, { id: 'm' })).rejects.toMatchObject({
      facts: { unrecognized: true },
    });
  });

  it('in the answer to a creation does not cost the secret that comes only once', async () => {
    body = '{"id":"m","name":7,"webhookSecret":"canary"}';
    const { data } = await transport.send(createMonitorEndpoint, { search: { query: 'q' } });
    expect([data.id, data.name, data.webhookSecret?.reveal()]).toEqual(['m', null, 'canary']);
    body = '{"name":"N"}';
    await expect(transport.send(createMonitorEndpoint, { search: { query: 'q' } })).rejects.toThrow(/id: /);
  });
});

describe('the text of a result', () => {
  const odd = '{"a":9007199254740993,"b":1e400,"c":-0,"d":123456789012345678901234567890,"e":2, "f":1.0}';

  it('is unchanged, digit by digit', async () => {
    const { units } = await contents(`[{"id":"https://a.example/","odd":${odd}}]`);
    expect(units[0]?.text).toBe(`{"id":"https://a.example/","odd":${odd}}`);
  });

  it('is on one line, from its first to its last character, for any content', () => {
    const list = Buffer.from(' [ {"a":"],[\\"\n"} ,\n[1,\r\n2], "x,]" , null ,{}, 5 ] '.replace('\n"', '"'));
    expect(elementsOf(list)?.map((one) => rawJson(one).text)).toEqual([
      '{"a":"],[\\""}',
      '[1,  2]',
      '"x,]"',
      'null',
      '{}',
      '5',
    ]);
    expect(elementsOf(Buffer.from('[]'))).toEqual([]);
    for (const json of ['', '{}', '[1', '[1] 2', `["${'long '.repeat(20)}]`])
      expect(elementsOf(Buffer.from(json)), json).toBeNull();
  });

  it('is the text that the bytes stand for, if they are not UTF-8', () => {
    expect(rawJson(Buffer.from('"a\xff"', 'latin1')).json).toBe('"a\ufffd"');
    expect(rawJson(Buffer.from('"aé"')).json).toEqual(Buffer.from('"aé"'));
  });
});
