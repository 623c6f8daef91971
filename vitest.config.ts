import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Tests with servers take the build in place of its source: their processes run the build anyway, so each module is read once, and
 * natively.
 */
const built: Plugin = {
  name: 'built',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !/^\.{1,2}\//.test(source)) return null;
    const path = resolve(importer, '..', source);
    const src = resolve('src');
    return path.startsWith(`${src}/`) ? `${resolve('dist')}${path.slice(src.length)}` : null;
  },
};

/** A machine may be slow: a poll that succeeds needs no more time by a long limit. */
const patient = { expect: { poll: { timeout: 30_000 } } };

/** A fork has more room for young objects than usual: fewer collections save a tenth of the processor's time. */
const forks = { pool: 'forks' as const, execArgv: ['--max-semi-space-size=32'] };

/** Tiers, from quick to slow: `docs/testing.md` says what each proves. */
const withServers = {
  ...patient,
  globalSetup: ['test/support/global-set-up.ts'],
  server: { deps: { external: [/\/dist\//] } },
  ...forks,
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** Workers of a test's own process run workflows in its thread: a thread for each worker costs up to a second of the processor. */
const inOneThread = { env: { TEMPORAL_DEBUG: 'true' } };

/** Contract tests that watch clocks: they run when nothing else does. */
const clocks = ['memory-limiter', 'shared-limiter'].map((file) => `test/contract/store/${file}.test.ts`);

/**
 * Files of more than 10 seconds in the unit tier, 20 in the contract tier, or a minute in the long tier: they begin first, so that no core
 * idles at the end.
 */
const slow =
  /unit\/(activities\/(unusable|waits)|api\/(operations|round)|cli\/(detach|flow|refused-lines)|rows\/(slice|stage))|contract\/(examples\/|worker\/(alone|enrich-rows|sinks)|jobs\/(killed|limit|one-page|pause|whole-job|row-ops)|events\/(.*-events|walk)|sources\/|warehouse\/.*-(rows|results)|schedules\/)|long\/(chaos|examples|package\/versions|publish|sources|upgrade)|long\/jobs\/agent-run/;

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification) => slow.test(moduleId);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

/** Test files of the unit tier that hold properties. */
const propertyFiles = ['api', 'core', 'rows', 'monitors', 'workflows'].flatMap((room) =>
  readdirSync(`test/unit/${room}`)
    .map((file) => `test/unit/${room}/${file}`)
    .filter((file) => readFileSync(file, 'utf8').includes('fast-check')),
);

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        test: {
          ...patient,
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/no-processes.ts', 'test/support/property-runs.ts'],
          // Files share a process and its modules, so that each module is read once: nothing here keeps global state.
          ...forks,
          isolate: false,
          // More than cores: some of these tests wait for real timers.
          maxWorkers: 3,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        plugins: [built],
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          exclude: clocks,
          ...withServers,
          ...inOneThread,
          // Bounds for a hang, not measures of speed.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // More than cores: these tests wait for servers most of the time.
          maxWorkers: 5,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [built],
        test: {
          name: 'contract-clocks',
          include: clocks,
          ...withServers,
          maxWorkers: 2,
          // They wait for the same clock.
          maxConcurrency: 20,
          isolate: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          // The properties of the unit tier, with many runs.
          name: 'properties',
          ...patient,
          include: propertyFiles,
          setupFiles: ['test/support/property-runs.ts'],
          provide: { propertyRuns: 8 },
          testTimeout: 300_000,
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
      {
        plugins: [built],
        test: {
          name: 'long',
          include: [
            'test/long/**/*.test.ts',
            'test/contract/warehouse/any-values.test.ts',
            'test/contract/worker/{enrich-rows,sinks,swapped-targets}.test.ts',
            'test/contract/examples/{own-worker,sinks}.test.ts',
            'test/contract/jobs/killed.test.ts',
            'test/contract/sources/hostile.test.ts',
          ],
          provide: { propertyRuns: 8 },
          ...withServers,
          // A bound for a hang: many processes share a slow machine here.
          testTimeout: 240_000,
          // Few at a time: these tests watch clocks and processes.
          maxWorkers: 3,
          isolate: false,
          sequence: { groupOrder: 4 },
        },
      },
      {
        plugins: [built],
        test: {
          name: 'deep',
          include: ['test/deep/**/*.test.ts'],
          ...withServers,
          maxWorkers: 1,
          testTimeout: 3_600_000,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
});
