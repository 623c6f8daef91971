// node scripts/count-tests.mjs <vitest's JSON result file>=<exit code of its run>…: names each test that failed, with its first error, then
// prints "N passed, N failed" over all files. Ends with 1 if a test failed or a result is missing. A file that could not even be loaded counts
// as one failure.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Lines of an error that are shown. */
const SHOWN = 12;

const shown = (message = '') => stripVTControlCharacters(message).split('\n').slice(0, SHOWN).join('\n  ');

function count(run) {
  const [file, code] = run.split('=');
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, 'utf8'));
    const failedIn = (suite) => suite.assertionResults.filter((test) => test.status === 'failed');
    const broken = testResults.filter((suite) => suite.status === 'failed' && failedIn(suite).length === 0);
    const failures = [
      ...broken.map(({ name = file, message }) => `${relative('.', name)}\n  ${shown(message)}`),
      ...testResults.flatMap((suite) =>
        failedIn(suite).map(
          ({ fullName, failureMessages: [first] }) => `${relative('.', suite.name)} > ${fullName}\n  ${shown(first)}`,
        ),
      ),
    ];
    const failed = numFailedTests + broken.length;
    if (failed > 0 || code === '0') return { passed: numPassedTests, failed, failures };
    // Only the exit code shows an error outside of every test.
    return {
      passed: numPassedTests,
      failed: 1,
      failures: [`${file}: the exit code was ${code}, though every test passed`],
    };
  } catch (error) {
    return { passed: 0, failed: 1, failures: [`${file}: ${error.message}`] };
  }
}

const counts = process.argv.slice(2).map(count);
const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
const [passed, failed] = [sum('passed'), sum('failed')];
for (const failure of counts.flatMap((one) => one.failures)) process.stdout.write(`FAILED ${failure}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || counts.length === 0 ? 1 : 0;
