// A test runner for Stryker: vitest's, which runs chosen mutants only. Stryker itself chooses by place in a file, where several
// mutants are, one within the other. Notes each result at once, so that a run can be interrupted.
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { keyOf } from './chosen.mjs';

const { strykerPlugins: found, strykerValidationSchema } = await import(process.env.MUTANTS_VITEST_RUNNER);
const chosen = new Set(JSON.parse(readFileSync(process.env.MUTANTS_CHOSEN, 'utf8')));
/** A mutant that waits for ever fails by this. */
const TEST_TIMEOUT_MS = 30_000;
const note = (line) => appendFileSync(process.env.MUTANTS_LOG, `${JSON.stringify(line)}\n`);

/** As vitest's runner, but for a mutant that was not chosen: it is said to survive, and left out of every count. */
function chosenOnly(injector) {
  const runner = found[0].factory(injector);
  const run = runner.mutantRun.bind(runner);
  runner.mutantRun = async (options) => {
    const { activeMutant } = options;
    const file = relative(process.env.MUTANTS_ROOT, activeMutant.fileName);
    const key = keyOf({ ...activeMutant, file });
    if (!chosen.has(key)) return { status: 'survived', nrOfTests: 0 };
    // One at a time is for the first run, which learns what each test gets to. Tests that only wait may do so together.
    for (const { config } of [runner.ctx, ...runner.ctx.projects]) {
      Object.assign(config, { maxConcurrency: 8, testTimeout: TEST_TIMEOUT_MS, hookTimeout: TEST_TIMEOUT_MS });
    }
    const started = Date.now();
    const result = await run(options);
    // Killed by waiting too long is a timeout, too: it may be the machine that was slow.
    const status = /timed out in \d+ms/.test(result.failureMessage ?? '') ? 'timeout' : result.status;
    note({ key, status, seconds: Math.round((Date.now() - started) / 1000), by: result.killedBy?.[0] });
    return result;
  };
  return runner;
}
chosenOnly.inject = found[0].factory.inject;

export const strykerPlugins = [{ kind: 'TestRunner', name: 'chosen', factory: chosenOnly }];
export { strykerValidationSchema };
