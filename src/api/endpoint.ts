import type { ZodType } from 'zod';
import type { LimitProblem, ServiceLimits } from './limits.js';

/** One operation of the service, declared once. Everything else about a call follows from it. */
export interface Endpoint<I, O> {
  readonly name: string;
  readonly method: 'POST';
  /** Path below the base URL. */
  readonly path: string;
  /** Section of the interface that describes it. */
  readonly section: string;
  /** A call costs money: it goes through `purchase`. */
  readonly paid: boolean;
  /** It starts something that runs on: a concurrency 429 then means that no slot is free. */
  readonly creates: boolean;
  /** Units of the team's rate limit a call takes. */
  readonly weight: number;
  /** Which buckets of the rate profile a call draws from. */
  readonly rateClass: string | ((input: I) => string);
  /** Types of the fields that are known; unknown fields reach the wire. */
  readonly request: ZodType<I>;
  /** Finds the first field that the service would refuse. */
  readonly check: (input: I, limits: ServiceLimits) => LimitProblem | null;
  /** Types of the fields that are known. Has no transforms: an answer stays the very value that came. */
  readonly response: ZodType<O>;
}

/** Rate class of one call. */
export function rateClassOf<I, O>(endpoint: Endpoint<I, O>, input: I): string {
  return typeof endpoint.rateClass === 'string' ? endpoint.rateClass : endpoint.rateClass(input);
}
