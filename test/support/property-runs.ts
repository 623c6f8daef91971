import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Factor for the number of runs of each property; 1 except in the long tier. */
    propertyRuns?: number;
  }
}

/** The number of runs of a property in this tier. `count`: the number in the unit tier. */
export const runs = (count: number): number => count * (inject('propertyRuns') ?? 1);

fc.configureGlobal({ numRuns: runs(100) });
