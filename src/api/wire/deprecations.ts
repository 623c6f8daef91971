import { fieldOf } from '../checks/field-of.js';
import { type Misread, misreadText } from '../checks/shape.js';
import type { Endpoint } from './endpoint.js';

/** Something that the service is going to remove (API reference: beta features), or odd fields of a free answer. */
export interface Deprecation {
  /** Name of the operation's endpoint, such as `findSimilar`. */
  readonly operation: string;
  /** The deprecated field of the request; null for the operation itself, and for an answer. */
  readonly field: string | null;
  /** One sentence for people. */
  readonly message: string;
}

/** Number of different warnings after which no more are reported. */
const MOST = 1000;

/** Reports each warning to `warn` once. */
export function createDeprecations(warn: ((warning: Deprecation) => void) | undefined) {
  const reported = new Set<string>();
  const report = (operation: string, field: string | null, message: string, key = `${operation} ${field}`): void => {
    if (warn === undefined || reported.has(key) || reported.size >= MOST) return;
    reported.add(key);
    warn({ operation, field, message });
  };
  return {
    /** Reports deprecated fields of a request that is about to be sent. */
    ofRequest<I, O>({ name, deprecated = {} }: Endpoint<I, O>, input: unknown): void {
      for (const [field, instead] of Object.entries(deprecated)) {
        if (fieldOf(input, field) !== undefined) report(name, field, `${field} of ${name} is deprecated: ${instead}`);
      }
    },
    /** Reports fields of a free answer that have other types than expected. Those of a paid answer are in its rows and results. */
    ofMisread<I, O>({ name, paid }: Endpoint<I, O>, misread: readonly Misread[]): void {
      const message = `the answer of ${name} has odd fields: ${misreadText(misread)}`;
      if (!paid && misread.length > 0) report(name, null, message, message);
    },
    /** Reports the `Deprecation` header of an answer. */
    ofAnswer<I, O>({ name }: Endpoint<I, O>, header: string | null): void {
      if (header !== null) report(name, null, `the service has deprecated ${name} (Deprecation: ${header})`);
    },
  };
}
