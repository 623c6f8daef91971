import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Factor for the number of runs of each property; the long tier sets it. */
    propertyRuns?: number;
  }
}

/** The number of runs of a property in this tier, from its number in the quick one. */
export const runs = (count: number): number => count * (inject('propertyRuns') ?? 1);

fc.configureGlobal({ numRuns: runs(100) });
