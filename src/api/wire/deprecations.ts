import { fieldOf } from '../checks/field-of.js';
import type { Endpoint } from './endpoint.js';

/** Something that the service is going to remove (API reference: beta features). */
export interface Deprecation {
  /** Name of the operation's endpoint, such as `findSimilar`. */
  readonly operation: string;
  /** The field of the request; null for the operation itself. */
  readonly field: string | null;
  /** One sentence for people. */
  readonly message: string;
}

/** Reports each deprecation to `warn` once. */
export function createDeprecations(warn: ((warning: Deprecation) => void) | undefined) {
  const reported = new Set<string>();
  const report = (operation: string, field: string | null, message: string): void => {
    const key = JSON.stringify([operation, field]);
    if (warn === undefined || reported.has(key)) return;
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
    /** Reports the `Deprecation` header of an answer. */
    ofAnswer<I, O>({ name }: Endpoint<I, O>, header: string | null): void {
      if (header !== null) report(name, null, `the service has deprecated ${name} (Deprecation: ${header})`);
    },
  };
}
