// What is mutated, and which tests have to notice. Paths are of the repository; one that is gone is an error, not an empty set.

/** Part of the mutants that must be killed. */
export const BAR = 0.8;

/** Every mutant of these, each group with the unit tests of its subject. The bar holds for each group. */
export const core = {
  failure: { tests: ['test/unit/core/failure.test.ts'], files: ['src/core/purchase/failure.ts'] },
  walk: {
    tests: ['test/unit/core/walk*.test.ts'],
    files: ['src/core/events/walk.ts', 'src/core/events/walk-window.ts'],
  },
  limiter: {
    tests: ['test/unit/core/{ring,turns,rate,backoff,limiter}.test.ts'],
    files: [
      'src/core/limiter/ring.ts',
      'src/core/limiter/rate-queue.ts',
      'src/core/limiter/rate.ts',
      'src/core/limiter/backpressure.ts',
      'src/core/purchase/backoff.ts',
      'src/core/limiter/limiter.ts',
    ],
  },
};

/**
 * A sample over all mutants of these, with the contract tests, and the unit tests of the same parts. The bar holds for each group.
 * `slow-purchase` is left out: it watches a service's clock, which a run at low priority does not keep.
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
      'src/activities/purchase/request.ts',
      'src/activities/purchase/budget-gate.ts',
      'src/activities/purchase/long-running.ts',
      'src/activities/purchase/purchase-stats.ts',
      'src/activities/purchase/waits.ts',
      'src/activities/call/account-breaker.ts',
      'src/activities/call/in-flight.ts',
      'src/activities/call/circuit-breaker.ts',
    ],
  },
  journal: {
    tests: [
      'test/contract/store/{file-journal,damaged-journal,missed-answers,observed-prices}.test.ts',
      'test/unit/{core/spend,store/segment-lines}.test.ts',
      'test/contract/store/pg-{journal,journal-faults,journal-late,shared-work}.test.ts',
    ],
    files: [
      'src/core/purchase/journal.ts',
      'src/core/purchase/spend.ts',
      'src/store/file/file-journal.ts',
      'src/store/file/segment.ts',
      'src/store/file/segment-bodies.ts',
      'src/store/file/segment-lines.ts',
      'src/store/file/segment-writer.ts',
      'src/store/spend/budget.ts',
      'src/store/file/claims.ts',
      'src/store/spend/file-caps.ts',
      'src/store/file/landed-units.ts',
      'src/store/file/segment-store.ts',
      'src/store/spend/spend-sums.ts',
      'src/store/file/unit-bodies.ts',
      'src/store/file/unit-index.ts',
      'src/store/file/unit-record.ts',
      'src/store/file/pending-outcomes.ts',
      'src/store/postgres/journal/journal-values.ts',
      'src/store/postgres/journal/pg-segments.ts',
      'src/store/postgres/journal/pg-journal.ts',
      'src/store/postgres/journal/pg-spend.ts',
      'src/store/postgres/journal/unit-bodies.ts',
    ],
  },
};
