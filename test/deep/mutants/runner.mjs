// A test runner for Stryker: that of vitest, which runs chosen mutants only. Stryker itself chooses by position in a file, where several
// mutants are, one within the other. Writes each result at once, so that a run can be interrupted.
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { keyOf } from './chosen.mjs';

const { strykerPlugins: found, strykerValidationSchema } = await import(process.env.MUTANTS_VITEST_RUNNER);
const chosen = new Set(JSON.parse(readFileSync(process.env.MUTANTS_CHOSEN, 'utf8')));
/** A mutant that never ends fails after this time. */
const TEST_TIMEOUT_MS = 30_000;
const note = (line) => appendFileSync(process.env.MUTANTS_LOG, `${JSON.stringify(line)}\n`);

/** Like the runner of vitest, except for a mutant that was not chosen: it counts as survived, and is left out of every figure. */
function chosenOnly(injector) {
  const runner = found[0].factory(injector);
  const run = runner.mutantRun.bind(runner);
  runner.mutantRun = async (options) => {
    const { activeMutant } = options;
    const file = relative(process.env.MUTANTS_ROOT, activeMutant.fileName);
    const key = keyOf({ ...activeMutant, file });
    if (!chosen.has(key)) return { status: 'survived', nrOfTests: 0 };
    // One at a time is for the first run, which learns what each test reaches. Tests that only wait may run in parallel.
    for (const { config } of [runner.ctx, ...runner.ctx.projects]) {
      Object.assign(config, { maxConcurrency: 8, testTimeout: TEST_TIMEOUT_MS, hookTimeout: TEST_TIMEOUT_MS });
    }
    const started = Date.now();
    const result = await run(options);
    // A mutant killed by a long wait is a timeout, too: perhaps the machine was slow.
    const status = /timed out in \d+ms/.test(result.failureMessage ?? '') ? 'timeout' : result.status;
    note({ key, status, seconds: Math.round((Date.now() - started) / 1000), by: result.killedBy?.[0] });
    return result;
  };
  return runner;
}
chosenOnly.inject = found[0].factory.inject;

export const strykerPlugins = [{ kind: 'TestRunner', name: 'chosen', factory: chosenOnly }];
export { strykerValidationSchema };
