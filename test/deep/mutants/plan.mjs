// The mutated files, and the tests that must detect the mutants. Paths begin at the repository's root; a path that does not exist is an
// error.

/** Share of the mutants that must be killed. */
export const BAR = 0.8;

/** Every mutant of these files is run with the unit tests of its group. Each group must reach BAR. */
export const core = {
  failure: { tests: ['test/unit/core/failure.test.ts'], files: ['src/core/purchase/failure.ts'] },
  walk: {
    tests: ['test/unit/core/walk*.test.ts'],
    files: ['src/core/events/walk.ts', 'src/core/events/walk-window.ts'],
  },
  limiter: {
    tests: ['test/unit/core/{ring,rate-queue,refusals,rate,backoff,limiter}.test.ts'],
    files: [
      'src/core/limiter/rate-queue.ts',
      'src/core/limiter/rate.ts',
      'src/core/purchase/backoff.ts',
      'src/core/limiter/limiter.ts',
    ],
  },
};

/**
 * A sample of the mutants of these files is run with the contract and unit tests of its group. Each group must reach BAR. The tests
 * `long-running-purchase` are left out: they depend on the clock of a service that is late when the run has a low priority.
 */
export const sample = {
  purchase: {
    tests: [
      'test/contract/activities/{purchase*,long-running-unit,observed-prices,unrecognized-answers}.test.ts',
      'test/unit/activities/purchase-*.test.ts',
    ],
    files: [
      'src/activities/purchase/purchase.ts',
      'src/activities/purchase/attempt.ts',
      'src/activities/purchase/journal-writes.ts',
      'src/activities/purchase/failures.ts',
      'src/activities/purchase/budget-gate.ts',
      'src/activities/purchase/long-running.ts',
      'src/activities/purchase/purchase-stats.ts',
      'src/activities/call/circuit-breaker.ts',
      'src/activities/call/in-flight.ts',
    ],
  },
  journal: {
    tests: [
      'test/contract/store/{file-journal,damaged-journal,observed-prices}.test.ts',
      'test/unit/{core/spend,store/segment-lines}.test.ts',
      'test/contract/store/pg-{journal,journal-faults,journal-late,shared-work}.test.ts',
    ],
    files: [
      'src/core/purchase/journal.ts',
      'src/core/purchase/spend.ts',
      'src/store/file/file-journal.ts',
      'src/store/file/segment.ts',
      'src/store/file/unit-record.ts',
      'src/store/file/segment-writer.ts',
      'src/store/file/spend.ts',
      'src/store/file/claims.ts',
      'src/store/file/landed-units.ts',
      'src/store/file/segment-store.ts',
      'src/store/file/unit-bodies.ts',
      'src/store/postgres/journal/journal-values.ts',
      'src/store/postgres/journal/pg-forget.ts',
      'src/store/postgres/journal/pg-journal.ts',
      'src/store/postgres/journal/pg-history.ts',
    ],
  },
};
