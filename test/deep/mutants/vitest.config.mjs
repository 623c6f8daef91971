import { defineConfig } from 'vitest/config';

/** The configuration for mutants: the tests that `plan.mjs` names and one PostgreSQL server, without any other set-up. */
export default defineConfig({
  test: {
    provide: { postgresUrl: process.env.MUTANTS_POSTGRES, propertyRuns: 1 },
    include: JSON.parse(process.env.MUTANTS_TESTS ?? '[]'),
    // The first run may take this long on a slow machine; the runner sets a shorter limit for mutants.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
