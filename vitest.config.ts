import { defineConfig } from 'vitest/config';

/** Tiers, from quick to slow: `docs/testing.md` says what each proves. */
const withServers = {
  globalSetup: ['test/support/global-set-up.ts'],
  // Native modules and signals to real processes: a fork each.
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/no-processes.ts'],
          // Files share a thread and its modules, so that each module is read once: nothing here keeps global state.
          pool: 'threads',
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          ...withServers,
          // More than cores: these tests wait for servers most of the time.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'long',
          include: ['test/long/**/*.test.ts'],
          ...withServers,
          // Few at a time: these tests watch clocks and processes.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'deep',
          include: ['test/deep/**/*.test.ts'],
          ...withServers,
          maxWorkers: 1,
          testTimeout: 3_600_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
