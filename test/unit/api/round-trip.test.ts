import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAnswer } from '../../../src/api/answer/read-answer.js';
import { hasKnownField, isShape } from '../../../src/api/checks/shape.js';
import { type OperationName, operationTable, streams } from '../../../src/api/operations.js';
import { encodeRequest, pathFields } from '../../../src/api/request.js';
import type { AnswerHeaders } from '../../../src/api/wire/call-failure.js';
import type { Endpoint } from '../../../src/api/wire/endpoint.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { readPage } from '../../../src/core/events/page.js';
import { arbitraryOf } from '../../support/api/arbitrary-of.js';
import { runs } from '../../support/property-runs.js';
import { isLong } from '../../support/tier.js';

const said: AnswerHeaders = { requestId: null, queued: null, queueMs: null, date: null, deprecation: null };
const unchanged = { setting: 'baseUrl', redact: (text: string) => text, redactBytes: (body: Buffer) => body };
const timeouts = { headersMs: 1, bodyMs: 1, totalMs: 1 };
/** There are three properties of each operation. */
const fewer = { numRuns: isLong ? runs(60) : 30 };

const placesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, one) => sum + 1 + placesIn(one), 0)
    : 0;
function withAt(value: unknown, place: number, other: unknown): string {
  let nth = 0;
  return JSON.stringify(value, (key, one: unknown) => (key !== '' && nth++ === place ? other : one));
}

describe.each(Object.keys(operationTable) as OperationName[])('%s', (name) => {
  const endpoint = operationTable[name] as unknown as Endpoint<object, unknown>;

  test('accepts every answer of its schema unchanged, with unknown fields', async () => {
    const call = { endpoint, base: new URL('http://x'), timeouts, ...unchanged };
    await fc.assert(
      fc.asyncProperty(arbitraryOf(endpoint.response), async (value) => {
        // Some answers need a field: a list its records, a new task an id, a run a status, a new monitor a secret.
        if (name.startsWith('list')) fc.pre(readPage(value as object) !== null);
        if (name === 'createResearchTask') Object.assign(value as object, { id: 'task' });
        if (name === 'getResearchTask' || name === 'getAgentRun') Object.assign(value as object, { status: 'running' });
        if (name === 'createMonitor') Object.assign(value as object, { webhookSecret: 'whsec' });
        // The answer to a question needs an answer.
        if (name === 'answer')
          Object.assign(value as object, { answer: (value as { answer?: unknown }).answer ?? 'yes' });
        // A paid answer without any known field counts as one that is not from the service.
        fc.pre(hasKnownField(endpoint.response, value) || !endpoint.paid);
        const came = {
          started: true,
          status: 200,
          headers: { 'content-length': '1' },
          body: Buffer.from(JSON.stringify(value)),
          broken: null,
        };
        const { data } = await readAnswer(endpoint, { call, received: came, answerHeaders: said }, 1e9);
        const secret = name === 'createMonitor' ? { webhookSecret: '[redacted]' } : {};
        expect(JSON.parse(JSON.stringify(data))).toEqual({ ...(value as object), ...secret });
      }),
      fewer,
    );
  });

  test('reads or names every answer in which a value is an object that has no text', async () => {
    const call = { endpoint, base: new URL('http://x'), timeouts, ...unchanged };
    const odd = { toString: 1, valueOf: 1 };
    const read = async (text: string) => {
      const body = Buffer.from(text);
      const came = { started: true, status: 200, headers: { 'content-length': `${body.length}` }, body, broken: null };
      try {
        await readAnswer(endpoint, { call, received: came, answerHeaders: said }, 1e9);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    };
    const answer = arbitraryOf(endpoint.response);
    await fc.assert(
      fc.asyncProperty(answer, fc.nat(), async (value, place) => {
        await read(withAt(value, place % Math.max(1, placesIn(value)), odd));
        for (const name of ['warnings', 'notices', 'error', 'statuses', 'costDollars', 'requestId'])
          await read(JSON.stringify({ ...(value as object), [name]: [odd, { tag: odd, code: odd, error: odd }] }));
      }),
      fewer,
    );
  });

  test('sends every request of its schema unchanged, with unknown fields', () => {
    const ids = pathFields(endpoint.path);
    fc.assert(
      fc.property(arbitraryOf(endpoint.request), fc.uuid(), (value, id) => {
        const input = { ...(value as Record<string, unknown>), ...Object.fromEntries(ids.map((field) => [field, id])) };
        const encoded = encodeRequest({ ...endpoint, request: z.looseObject({}) }, input, {});
        const fields = Object.fromEntries(Object.entries(input).filter(([field]) => !ids.includes(field)));
        if (endpoint.method === 'POST' || endpoint.method === 'PATCH') {
          if ('problem' in encoded) throw new Error(encoded.problem.message);
          expect(JSON.parse(encoded.body ?? '{}')).toEqual(fields);
          return;
        }
        // If a value cannot be written in a query, the call is refused; the value is never sent in another form.
        if ('problem' in encoded) {
          expect(encoded.problem.message).toMatch(/no form in a query|half a character/);
          return;
        }
        const pairs = [...new URL(encoded.path, 'http://x').searchParams].map(([key, one]) => `${key}=${one}`);
        const parts = Object.entries(fields).flatMap(([key, one]): unknown[][] => {
          if (Array.isArray(one)) return one.map((item) => [key, item]);
          if (typeof one !== 'object' || one === null) return [[key, one]];
          return Object.entries(one).map(([inner, item]) => [`${key}[${inner}]`, item]);
        });
        const wanted = parts
          .filter(([, one]) => one !== null && one !== undefined)
          .map(([key, one]) => `${key}=${one}`);
        expect(pairs).toEqual(wanted);
      }),
      fewer,
    );
  });
});

test.each(Object.keys(streams) as (keyof typeof streams)[])('%s accepts every chunk of its schema', (name) => {
  fc.assert(
    fc.property(arbitraryOf(streams[name].chunk), (chunk) => isShape(streams[name].chunk as never, chunk)),
    fewer,
  );
});
