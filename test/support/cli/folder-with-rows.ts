import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { listen } from './fake-runtime.js';

/** A folder with the rows `in.csv`, and a service that listens, for the tests of one file. Returns the path of the folder. */
export function folderWithRows(): string {
  const cwd = mkdtempSync(join(tmpdir(), 'searchflow-rows-'));
  let service: Awaited<ReturnType<typeof listen>>;
  beforeAll(async () => {
    service = await listen();
    writeFileSync(join(cwd, 'in.csv'), 'name,site\nExample,https://example.com\n');
  });
  afterAll(() => {
    service.close();
    rmSync(cwd, { recursive: true, force: true });
  });
  return cwd;
}
