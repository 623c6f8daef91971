import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileLogger } from '../../../src/worker/host/worker-host.js';
import { folderOfTest } from '../../support/files/folders.js';

it('the log of a worker begins again when it is full, also while the worker runs', () => {
  const dir = folderOfTest();
  const log = join(dir, 'worker.log');
  const logger = fileLogger(dir, 1000);
  for (let line = 0; line < 100; line++) {
    logger.warn(`line ${line} ${'x'.repeat(50)}`);
    expect(statSync(log).size).toBeLessThan(1200);
  }
  expect(readFileSync(log, 'utf8')).toContain('line 99 ');
  // A worker that starts continues the file.
  fileLogger(dir, 1000).warn('another worker');
  expect(readFileSync(log, 'utf8')).toMatch(/line 99 [\s\S]*another worker/);
  expect(statSync(log).mode & 0o777).toBe(0o600);
});
