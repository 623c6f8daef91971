import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { folderOfFile } from '../files/folders.js';
import { listen } from './fake-runtime.js';

/** A folder with the rows `in.csv`, and a service that listens, for the tests of one file. Returns the path of the folder. */
export function folderWithRows(): string {
  const cwd = folderOfFile();
  let service: Awaited<ReturnType<typeof listen>>;
  beforeAll(async () => {
    service = await listen();
    writeFileSync(join(cwd, 'in.csv'), 'name,site\nExample,https://example.com\n');
  });
  afterAll(() => service.close());
  return cwd;
}
