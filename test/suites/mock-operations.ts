import { ApplicationFailure } from '@temporalio/common';
import {
  AccountBreaker,
  CircuitBreaker,
  createAloneActivities,
  InFlight,
  Places,
} from '#searchflow/activities/alone.js';
import type { Answer } from '#searchflow/api/answer/read-answer.js';
import { type OperationName, type Operations, operationTable } from '#searchflow/api/operations.js';
import { costOf } from '#searchflow/api/schemas/result.js';
import { createTransport, defaultTimeouts, type Transport } from '#searchflow/api/transport.js';
import type { Endpoint } from '#searchflow/api/wire/endpoint.js';
import type { Limiter } from '#searchflow/core/limiter/limiter.js';
import { pricesAt } from '#searchflow/core/purchase/prices.js';
import { nearest } from '#searchflow/core/text/nearest.js';
import { sha256 } from '#searchflow/worker/config/sha256.js';

/** A request without its open fields, so that a misspelt field is a type error. */
type Named<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] };

/** What an operation answers in a test: a function of its request, which throws the failure of the operation. */
type Mock<E> = E extends Endpoint<infer I, infer O> ? (request: Named<I>) => O | Promise<O> : never;

/** Mocks by the names of the operations. */
export type OperationMocks = { readonly [Name in OperationName]?: Mock<Operations[Name]> };

/**
 * Returns the activities of a worker in a unit test: `Worker.create({ activities: mockOperations({ search: () => … }), … })`. They are the real
 * activities of `SearchflowPlugin` without a record, with the mocks in place of the service: requests are checked, caps hold, and
 * `operations()`, `enrichRows()` and `runAgent()` work. An operation without a mock fails at once as `NoMock`. Throws for a mock of an unknown
 * operation, and for one that is no function.
 */
export function mockOperations(mocks: OperationMocks): Record<string, (...args: never[]) => Promise<unknown>> {
  const unknown = Object.keys(mocks).find((name) => !Object.hasOwn(operationTable, name));
  if (unknown !== undefined) throw new TypeError(`mockOperations: ${whyUnknown(unknown)}`);
  const [wrong] = Object.entries(mocks).find(([, mock]) => mock !== undefined && typeof mock !== 'function') ?? [];
  if (wrong) throw new TypeError(`mockOperations: ${wrong} must be a function of its request, such as () => answer`);
  const transport = mockTransport(mocks);
  const activities = createAloneActivities({
    ...{ transport, origin: 'mock', sha256, limiter, places: new Places(limiter), inFlight: new InFlight(256) },
    ...{ health: new CircuitBreaker(), accountBreaker: new AccountBreaker(), timeoutMs: defaultTimeouts.totalMs },
    prices: () => pricesAt(Date.now()),
    secrets: { put: async () => undefined, get: async () => null, remove: async () => false, names: async () => [] },
  });
  return {
    ...activities,
    readAnswer: async () => Promise.reject(noMock('readAnswer', 'Without a record no call returns `landed`')),
  };
}

function whyUnknown(name: string): string {
  const meant = nearest(name, Object.keys(operationTable));
  return `${name} is not an operation${meant === null ? '' : `; did you mean ${meant}?`}`;
}

const noMock = (name: string, help: string) =>
  ApplicationFailure.nonRetryable(`mockOperations has no mock of ${name}. ${help}.`, 'NoMock');

/** The check of requests is the real one. */
function mockTransport(mocks: OperationMocks): Transport {
  const real = createTransport({ apiKey: null, baseUrl: 'https://mock.invalid' });
  const nameOf = new Map(Object.entries(operationTable).map(([name, endpoint]) => [endpoint.name, name]));
  let requests = 0;
  return {
    ...real,
    send: async <O>({ name: endpoint }: { readonly name: string }, input: unknown): Promise<Answer<O>> => {
      const name = nameOf.get(endpoint) ?? endpoint;
      const mock = (mocks as Readonly<Record<string, ((input: unknown) => unknown) | undefined>>)[name];
      if (!mock) throw noMock(name, `Add one: mockOperations({ ${name}: (request) => … })`);
      const json = JSON.stringify(await mock(input));
      const data = JSON.parse(json) as O;
      return {
        ...{ data, misread: [], warnings: [], status: 200, bytes: json.length, costMicros: costOf(data) },
        ...{ requestId: `mock-${++requests}`, queued: null, queueMs: null, date: null, deprecation: null },
        raw: () => Buffer.from(json),
        rawList: (list) => {
          const elements = (data as Readonly<Record<string, unknown>>)[list];
          return Array.isArray(elements) ? elements.map((one) => Buffer.from(JSON.stringify(one))) : null;
        },
      };
    },
  };
}

/** Gives each call its turn at once: no test waits by the clock of the machine. */
const nothing = async () => undefined;
const noBlock = { blockedUntil: null, blockedSince: null, blockReason: null };
const view = { profile: 'mock', qps: 0, effectiveQps: 0, buckets: [], waiting: 0, ...noBlock };
const limiter: Limiter = {
  acquire: async (rateCost) => ({ rateCost, startAt: 0, reservedAt: 0 }),
  ...{ start: async () => 'go' as const, queued: () => undefined, view: async () => view },
  ...{ block: nothing, unblock: nothing, close: nothing },
};
