import { type ZodType, z } from 'zod';
import type { RateCost } from '../../core/limiter/limiter.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { shapeProblem } from '../checks/shape.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * How a call without an answer, or with a retryable failure, is retried. `repeat`: the call is made again any number of times. `rebuy`: a
 * paid call whose lost answer may have been charged; such a call is retried a limited number of times. `adopt`: the paid start of a run;
 * before a retry, the run whose answer was lost is searched for. `check`: a free call that acts each time; before a retry, the effect of
 * the call is checked.
 */
export type RetryClass = 'repeat' | 'rebuy' | 'adopt' | 'check';

/** One operation of the service, declared once. Everything else about a call follows from this declaration. */
export interface Endpoint<I, O> {
  /** The operation's name in keys, journal and errors: the function's name, except for `contents`. Names in keys never change. */
  readonly name: string;
  readonly method: Method;
  /** Path below the base URL; `{id}` is replaced by the field `id` of the input, encoded. */
  readonly path: string;
  /** Whether a call costs money; a paid call goes through `purchase`. */
  readonly paid: boolean;
  /** Whether repeating the same call changes nothing and costs nothing. */
  readonly idempotent: boolean;
  /** Whether a call starts a run; a concurrency 429 to such a call means that no slot is free. */
  readonly creates: boolean;
  /** Units of the team's rate limit that a call takes; a call with weight 0 uses no units, but waits during a block. */
  readonly weight: number;
  /** The buckets of the rate profile that a call counts against. */
  readonly rateClass: string | ((input: I) => string);
  readonly retry: RetryClass;
  /** Maximum cost of a paid call at these prices, in micro-dollars; used until the service reports the actual cost. */
  readonly estimate: (input: I, prices: PriceTable) => number;
  /** The part of a request, such as the effort of an agent run, that decides the price together with the operation; default: none. */
  readonly tier: (input: I) => string;
  /**
   * Types of the known fields, with rules that only senseless values break; unknown fields reach the wire. Fields that are not in the path
   * are the body of a POST or PATCH, else the query.
   */
  readonly request: ZodType<I>;
  /** The tokens of the beta features that a request uses; default: none. */
  readonly beta: (input: I) => readonly string[];
  /** Types of the known fields, without transforms: an answer stays exactly as received. */
  readonly response: ZodType<O>;
  /** Returns the part of an answer that the call is made for, if it is missing or of another type; such an answer is unusable. */
  readonly lacks: (answer: unknown) => ReturnType<typeof shapeProblem> | null;
  /** The field of the request with the id of the record that the answer is; it stands in for an `id` that cannot be read. */
  readonly record?: string;
  /** Whether the answer has a secret that no other answer has: an odd field beside it must not make the answer unreadable. */
  readonly tellsOnce?: true;
  /** Fields of the answer that hold a secret: their texts become `Secret`s as soon as the answer is read. */
  readonly secrets?: readonly string[];
  /** Fields of the request that the service is going to remove; each is reported once. */
  readonly deprecated?: Readonly<Record<string, string>>;
}

/** An endpoint of any types, for code that reads the table. */
export type AnyEndpoint = Omit<Endpoint<never, unknown>, 'request'> & { readonly request: ZodType };

export type Declared<I, O> = Pick<Endpoint<I, O>, 'name' | 'path' | 'request' | 'response'> & Partial<Endpoint<I, O>>;

/** Declares an endpoint. Defaults: a free read that may be repeated. */
export function defineEndpoint<I, O>(declared: Declared<I, O>): Endpoint<I, O> {
  return {
    method: 'GET',
    paid: false,
    idempotent: true,
    creates: false,
    weight: 1,
    rateClass: 'default',
    retry: 'repeat',
    estimate: () => 0,
    tier: () => '',
    beta: () => [],
    lacks: () => null,
    ...declared,
  };
}

/** Input of an operation on one record. */
export const byId = z.looseObject({ id: z.string() });
export type ById = z.infer<typeof byId>;
/** The request and answer of an operation on one record. */
export const ofRecord = { request: byId, record: 'id' } as const;

export function rateClassOf<I, O>(endpoint: Endpoint<I, O>, input: I): string {
  return typeof endpoint.rateClass === 'string' ? endpoint.rateClass : endpoint.rateClass(input);
}

export function rateCostOf<I, O>(endpoint: Endpoint<I, O>, input: I): RateCost {
  return { rateClass: rateClassOf(endpoint, input), weight: endpoint.weight };
}
