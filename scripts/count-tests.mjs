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
    const failures = testResults.flatMap(({ name = file, status, message, assertionResults }) => {
      const path = relative('.', name);
      const failed = assertionResults.filter((test) => test.status === 'failed');
      if (status === 'failed' && failed.length === 0) return [`${path}\n  ${shown(message)}`];
      return failed.map(({ fullName, failureMessages }) => `${path} > ${fullName}\n  ${shown(failureMessages[0])}`);
    });
    // Only the exit code shows an error outside of every test.
    if (failures.length === 0 && numFailedTests === 0 && code !== '0')
      failures.push(`${file}: the exit code was ${code}, though every test passed`);
    return { passed: numPassedTests, failed: Math.max(numFailedTests, failures.length), failures };
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
