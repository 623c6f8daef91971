// node scripts/count-tests.mjs <vitest's JSON result file>: prints "N passed, N failed".
// Ends with 1 where anything failed or there is no result. A file that could not even be loaded counts as one failure.
import { readFileSync } from 'node:fs';

function count(file) {
  try {
    const { numPassedTests, numFailedTests, testResults, success } = JSON.parse(readFileSync(file, 'utf8'));
    const broken = testResults.filter(
      (suite) => suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed'),
    );
    const failed = numFailedTests + broken.length;
    // An error outside every test fails the run without failing a test.
    return { passed: numPassedTests, failed: failed === 0 && success === false ? 1 : failed };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

const { passed, failed } = count(process.argv[2]);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
