import { ApplicationFailure } from '@temporalio/common';
import {
  AccountBreaker,
  CircuitBreaker,
  createAloneActivities,
  InFlight,
  Places,
} from '#searchflow/activities/alone.js';
import { type Answer, readKept } from '#searchflow/api/answer/read-answer.js';
import { type OperationName, type Operations, operationTable } from '#searchflow/api/operations.js';
import { costOf } from '#searchflow/api/schemas/result.js';
import { createTransport, defaultTimeouts, type Transport } from '#searchflow/api/transport.js';
import type { Endpoint } from '#searchflow/api/wire/endpoint.js';
import type { Limiter } from '#searchflow/core/limiter/limiter.js';
import { pricesAt } from '#searchflow/core/purchase/prices.js';
import { sha256 } from '#searchflow/worker/config/sha256.js';
import { checkMocks } from './check-mocks.js';

/** The fields of a type without its open ones, so that a misspelt field is a type error. */
type Named<T> = { [Name in keyof T as string extends Name ? never : Name]: T[Name] };
type Fields<T> = T extends readonly unknown[] ? never : T extends object ? keyof Named<T> : never;
type Field<T, Name> = T extends { readonly [_ in Name & PropertyKey]?: infer V } ? V : never;

/** A value in which all fields, at any depth, are fields of `T`. */
export type Exact<Given, T> = Given & Checked<Given, T>;
type Checked<Given, T> = unknown extends Given | T
  ? unknown
  : Given extends readonly (infer One)[]
    ? readonly Checked<One, T extends readonly (infer Known)[] ? Known : never>[]
    : Given extends object
      ? { readonly [Name in keyof Given]: CheckedField<Given[Name], T, Name> }
      : unknown;
/** An object of any fields has none by name. */
type CheckedField<Given, T, Name> = [Fields<T>] extends [never]
  ? unknown
  : Name extends Fields<T>
    ? Checked<Given, Field<T, Name>>
    : string extends Name
      ? unknown
      : UnknownField;
/** No value has this type, whose name stands in the error of the compiler. */
interface UnknownField {
  readonly unknown: never;
}

type Request<Name> = Operations[Name & OperationName] extends Endpoint<infer I, infer _> ? Named<I> : never;
type Response<Name> = Operations[Name & OperationName] extends Endpoint<infer _, infer O> ? O : never;
type Answers = { readonly [Name in OperationName]?: Response<Name> };
type Mock<Name, A> = (request: Request<Name>) => A | Promise<A>;

/** Mocks by the names of the operations: functions of the request, which throw the failure of the operation. */
export type OperationMocks = { readonly [Name in OperationName]?: Mock<Name, Response<Name>> };
type ExactMocks<A> = { readonly [Name in keyof A]: Mock<Name, Exact<A[Name], Response<Name>>> };

/**
 * Returns the activities of a worker in a unit test: `Worker.create({ activities: mockOperations({ search: () => … }), … })`. They are the real
 * activities of `SearchflowPlugin` without a record, with the mocks in place of the service: requests are checked, caps hold, and
 * `operations()`, `enrichRows()` and `runAgent()` work. An operation without a mock fails at once as `NoMock`. Throws for a mock of an unknown
 * operation, and for one that is no function.
 */
export function mockOperations<A extends Answers>(
  mocks: ExactMocks<A>,
): Record<string, (...args: never[]) => Promise<unknown>> {
  checkMocks('mockOperations', mocks, 'an operation', Object.keys(operationTable));
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

const noMock = (name: string, help: string) =>
  ApplicationFailure.nonRetryable(`mockOperations has no mock of ${name}. ${help}.`, 'NoMock');

/** The check of requests is the real one. */
function mockTransport(mocks: object): Transport {
  const real = createTransport({ apiKey: null, baseUrl: 'https://mock.invalid' });
  const nameOf = new Map(Object.entries(operationTable).map(([name, endpoint]) => [endpoint.name, name]));
  let requests = 0;
  return {
    ...real,
    send: async <I, O>(endpoint: Endpoint<I, O>, input: unknown): Promise<Answer<O>> => {
      const name = nameOf.get(endpoint.name) ?? endpoint.name;
      const mock = (mocks as Readonly<Record<string, ((input: unknown) => unknown) | undefined>>)[name];
      if (!mock) throw noMock(name, `Add one: mockOperations({ ${name}: (request) => … })`);
      const body = Buffer.from(JSON.stringify(await mock(input)) ?? '');
      const read = readKept(endpoint, body);
      if (!read)
        throw ApplicationFailure.nonRetryable(`mockOperations: the mock of ${name} returned no answer`, 'NoMock');
      return {
        ...{ ...read, warnings: [], status: 200, bytes: body.length, costMicros: costOf(read.data) },
        ...{ requestId: `mock-${++requests}`, queued: null, queueMs: null, date: null, deprecation: null },
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
