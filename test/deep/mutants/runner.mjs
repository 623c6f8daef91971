// A test runner for Stryker that extends the one for vitest: it runs only the chosen mutants. Stryker itself can only choose by position in
// a file, and one position may have several mutants. Each result is written at once, so that a run can be interrupted.
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { keyOf } from './chosen.mjs';

const { strykerPlugins: found, strykerValidationSchema } = await import(process.env.MUTANTS_VITEST_RUNNER);
const chosen = new Set(JSON.parse(readFileSync(process.env.MUTANTS_CHOSEN, 'utf8')));
/** A test fails after this time, also if the mutant makes it wait for ever. */
const TEST_TIMEOUT_MS = 30_000;
const note = (line) => appendFileSync(process.env.MUTANTS_LOG, `${JSON.stringify(line)}\n`);

/** The runner of vitest, except that a mutant which was not chosen gets the status `survived` without a run, and no figure counts it. */
function chosenOnly(injector) {
  const runner = found[0].factory(injector);
  const run = runner.mutantRun.bind(runner);
  runner.mutantRun = async (options) => {
    const { activeMutant } = options;
    const file = relative(process.env.MUTANTS_ROOT, activeMutant.fileName);
    const key = keyOf({ ...activeMutant, file });
    if (!chosen.has(key)) return { status: 'survived', nrOfTests: 0 };
    // The first run has one test at a time, to learn the code that each test reaches. From here on tests that wait may run in parallel.
    for (const { config } of [runner.ctx, ...runner.ctx.projects]) {
      Object.assign(config, { maxConcurrency: 8, testTimeout: TEST_TIMEOUT_MS, hookTimeout: TEST_TIMEOUT_MS });
    }
    const started = Date.now();
    const result = await run(options);
    // A mutant that a long wait has killed counts as a timeout, because the machine may only have been slow.
    const status = /timed out in \d+ms/.test(result.failureMessage ?? '') ? 'timeout' : result.status;
    note({ key, status, seconds: Math.round((Date.now() - started) / 1000), by: result.killedBy?.[0] });
    return result;
  };
  return runner;
}
chosenOnly.inject = found[0].factory.inject;

export const strykerPlugins = [{ kind: 'TestRunner', name: 'chosen', factory: chosenOnly }];
export { strykerValidationSchema };
