import { type ZodType, z } from 'zod';
import type { RateCost } from '../../core/limiter/limiter.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { LimitProblem, ServiceLimits } from '../checks/limits.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * What may be done where no answer came, or a failure that may pass. `repeat`: the call again, as often as it takes.
 * `rebuy`: a paid call whose lost answer may have been charged; bought again a bounded number of times. `adopt`: a paid start;
 * what a lost answer may have started is looked for first. `look`: a free call that acts each time; look at what it did first.
 */
export type RetryClass = 'repeat' | 'rebuy' | 'adopt' | 'look';

/** One operation of the service, declared once. Everything else about a call follows from it. */
export interface Endpoint<I, O> {
  /** Its word in keys, journal and errors. The function's name, save for `contents`: names in keys never change. */
  readonly name: string;
  readonly method: Method;
  /** Path below the base URL; `{id}` takes the field `id` of the input, encoded. */
  readonly path: string;
  /** Section of the interface that describes it, or of the public facts. */
  readonly section: string;
  /** A call costs money: it goes through `purchase`. */
  readonly paid: boolean;
  /** A second, same call changes nothing and costs nothing. */
  readonly idempotent: boolean;
  /** It starts something that runs on: a concurrency 429 then means that no slot is free. */
  readonly creates: boolean;
  /** Units of the team's rate limit a call takes; 0 is free but obeys a block. */
  readonly weight: number;
  /** Which buckets of the rate profile a call counts against. */
  readonly rateClass: string | ((input: I) => string);
  readonly retry: RetryClass;
  /** The most that a paid call may cost by these prices, in micro-dollars: it is taken to cost that until the service says. */
  readonly estimate: (input: I, prices: PriceTable) => number;
  /** What decides the price of a call beside the operation, such as the effort of an agent run; default: nothing. */
  readonly tier: (input: I) => string;
  /**
   * Types of the fields that are known; unknown fields reach the wire. What the path doesn't take is the body of a POST or
   * PATCH, else the query.
   */
  readonly request: ZodType<I>;
  /** Finds the first field that the service would refuse. */
  readonly check: (input: I, limits: ServiceLimits) => LimitProblem | null;
  /** Types of the fields that are known. Has no transforms: an answer stays the very value that came. */
  readonly response: ZodType<O>;
  /** Fields of the answer that hold a secret: each text becomes a `Secret` before anything else sees it. */
  readonly secrets?: readonly string[];
  /**
   * A free read of what was paid for, such as a run: as in the answer of a paid call, a field of another type costs that field only.
   */
  readonly lenient?: boolean;
  /** Fields of the request that the service is going to drop: warned of once. */
  readonly deprecated?: Readonly<Record<string, string>>;
  /** Other forms of the same operation that the service has had, by name. */
  readonly variants?: Readonly<Record<string, Partial<Pick<Endpoint<I, O>, 'path' | 'section' | 'check'>>>>;
}

/** An endpoint of any types, for code that reads the table. */
export type AnyEndpoint = Omit<Endpoint<never, unknown>, 'request'> & { readonly request: ZodType };

type Said<I, O> = Pick<Endpoint<I, O>, 'name' | 'path' | 'section' | 'request' | 'response'> & Partial<Endpoint<I, O>>;

/** Declares an endpoint: a free read that may be repeated, as far as nothing else is said. */
export function defineEndpoint<I, O>(said: Said<I, O>): Endpoint<I, O> {
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
    check: () => null,
    ...said,
  };
}

/** Input of an operation on one record. */
export const byId = z.looseObject({ id: z.string() });
export type ById = z.infer<typeof byId>;

/** Rate class of one call. */
export function rateClassOf<I, O>(endpoint: Endpoint<I, O>, input: I): string {
  return typeof endpoint.rateClass === 'string' ? endpoint.rateClass : endpoint.rateClass(input);
}

/** What one call counts against the team's rate. */
export function rateCostOf<I, O>(endpoint: Endpoint<I, O>, input: I): RateCost {
  return { rateClass: rateClassOf(endpoint, input), weight: endpoint.weight };
}

/** The endpoint in one of its other forms; `null` where it has none of that name. */
export function variantOf<I, O>(endpoint: Endpoint<I, O>, variant: string | undefined): Endpoint<I, O> | null {
  if (variant === undefined || variant === 'contract') return endpoint;
  const changes = endpoint.variants?.[variant];
  return changes ? { ...endpoint, ...changes } : null;
}
