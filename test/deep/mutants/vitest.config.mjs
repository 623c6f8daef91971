import { defineConfig } from 'vitest/config';

/** For runs of mutants only: the tests that `plan.mjs` names, with the one PostgreSQL server of the run and no other set-up. */
export default defineConfig({
  test: {
    provide: { postgresUrl: process.env.MUTANTS_POSTGRES, propertyRuns: 1 },
    include: JSON.parse(process.env.MUTANTS_TESTS ?? '[]'),
    // The first run takes as long as the machine needs; that of a mutant is limited by the runner.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
