import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { membersOf, rawJson } from '../../../src/api/checks/members.js';
import { listEventsEndpoint } from '../../../src/api/endpoints/events.js';
import type { Transport } from '../../../src/api/transport.js';
import { BodyMemory } from '../../../src/core/purchase/body-memory.js';
import { transportTo } from '../../support/api/transport-to.js';

const text = (json: Uint8Array | undefined) => Buffer.from(json ?? []).toString();

describe('the members of a JSON object', () => {
  it('are cut exactly at their ends, for any content', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 3), (object, spaces) => {
        const members = membersOf(Buffer.from(JSON.stringify(object, null, spaces)));
        const read = [...(members ?? [])].map(([name, json]) => [name, JSON.parse(text(json))]);
        expect(Object.fromEntries(read)).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  it('are none if the text is no object, is truncated or has more after its end', () => {
    for (const json of ['', '[]', '5', 'null', '{"a":1', '{"a":"', '{"a":1} x', `{"a":${'['.repeat(600)}`]) {
      const members = membersOf(Buffer.from(json));
      expect(members, json).toBeNull();
    }
  });
});

it('a landed answer is kept byte for byte, unless a name is repeated: then its last value counts, and numbers keep their digits', () => {
  const same = ['{"a":{"a":1},"b":[{"a" : 1.50},{"a":"{\\"a\\":"}], "\\u0061b": 1e3}', '["a","a"]', '"a"'];
  for (const json of same) expect(rawJson(Buffer.from(json)).text).toBe(json);
  for (const [json, kept] of [
    ['{"a":1, "b":12345678901234567890.5, "a":2}', '{"a":2,"b":12345678901234567890.5}'],
    ['\ufeff[{"c":{"é":1,\n"\\u00e9" :[2]}}]', '[{"c":{"é":[2]}}]'],
    ['{"":1,"x":"\\"","":"\\u0001n5"}', '{"":"\\u0001n5","x":"\\""}'],
  ] as const)
    expect(rawJson(Buffer.from(json)).text).toBe(kept);
});

describe('a list whose records are not parsed', () => {
  let transport: Transport;
  let close: () => Promise<void>;
  let body: string | Buffer = '';
  let headers: Record<string, string> = {};
  beforeAll(async () => {
    ({ transport, close } = await transportTo((_request, response) => {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      response.end(body);
    }));
  });
  afterAll(() => close());
  const ask = (content: string, careful = false) => {
    body = content;
    return transport.sendRawList(listEventsEndpoint, {}, { careful });
  };
  const data = '[{"id":"a","data":{"x":"],\\"hasMore\\":true,\\"nextCursor\\":null}","n":1.0e400}},{"id":"\\u0000"}]';

  it('returns its records byte for byte, in any form of the envelope, with and without careful parsing', async () => {
    const forms = [
      `{"data":${data},"hasMore":true,"nextCursor":"c\\"1"}`,
      `{"data":${data},"nextCursor":"c\\"1","hasMore":true}`,
      ` {\n "data" : ${data} ,\n "hasMore" : true, "nextCursor" : "c\\"1" }\n`,
      `{"nextCursor":"c\\"1","hasMore":true,"data":${data}}`,
      `{"total":5,"items":${data},"has_more":true,"next_cursor":"c\\"1","more":[{}]}`,
    ];
    for (const form of forms) {
      for (const careful of [false, true]) {
        const page = await ask(form, careful);
        expect({ ...page, items: text(page.items) }).toMatchObject({ items: data, hasMore: true, cursor: 'c"1' });
      }
    }
  });

  it('is read into the given memory if the service sends its size and does not compress it', async () => {
    const page = `{"data":${data},"hasMore":false,"nextCursor":null}`;
    const memory = new BodyMemory();
    const first = memory.take(page.length);
    memory.giveBack(first);
    const into = async (content: string | Buffer, more: Record<string, string> = {}) => {
      [body, headers] = [content, more];
      const { items } = await transport.sendRawList(listEventsEndpoint, {}, { space: memory });
      headers = {};
      const whose = items.buffer === first.buffer;
      expect(text(items)).toBe(data);
      memory.giveBack(items);
      return whose;
    };
    expect(await into(page)).toBe(true);
    expect(await into(page)).toBe(true);
    expect(await into(page, { 'transfer-encoding': 'chunked' })).toBe(false);
    expect(await into(gzipSync(page), { 'content-encoding': 'gzip' })).toBe(false);
  });

  it('reports the end, also when the service leaves fields out', async () => {
    expect(await ask('{"data":[],"hasMore":false,"nextCursor":null}')).toMatchObject({ hasMore: false, cursor: null });
    expect(await ask('{"data":[],"nextCursor":""}')).toMatchObject({ hasMore: null, cursor: null });
    expect((await ask('{"data":[],"hasMore":false,"nextCursor":null}')).date).toBeGreaterThan(0);
  });

  it('is refused like any other answer if it has no list or was truncated', async () => {
    await expect(ask('{"data":{}}')).rejects.toMatchObject({ verdict: { type: 'ResponseShape', retry: false } });
    for (const body of ['<html>', '', '{}', '{"data":null}', '[]'])
      await expect(ask(body)).rejects.toMatchObject({ facts: { unrecognized: true }, verdict: { retry: true } });
    await expect(ask('{"data":[{"id":')).rejects.toMatchObject({
      verdict: { type: 'ServiceUnavailable', retry: true },
    });
  });
});
