// node scripts/count-tests.mjs <vitest's JSON result file>=<exit code of its run>…: prints "N passed, N failed" over all of them.
// Ends with 1 if a test failed or a result is missing. A file that could not even be loaded counts as one failure.
import { readFileSync } from 'node:fs';

function count(run) {
  const [file, code] = run.split('=');
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, 'utf8'));
    const broken = testResults.filter(
      (suite) => suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed'),
    );
    const failed = numFailedTests + broken.length;
    // Only the exit code shows an error outside of every test.
    return { passed: numPassedTests, failed: failed === 0 && code !== '0' ? 1 : failed };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

const counts = process.argv.slice(2).map(count);
const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
const [passed, failed] = [sum('passed'), sum('failed')];
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || counts.length === 0 ? 1 : 0;
