import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

const newFolder = () => mkdtempSync(join(tmpdir(), 'searchflow-test-'));
// The Temporal server of a folder ends some time after its commands, and may still write and delete files.
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });

/** A new folder that is removed after all tests of the file, or of the `describe` that makes it. */
export function folderOfFile(): string {
  const folder = newFolder();
  afterAll(() => remove(folder));
  return folder;
}

/** A new folder that is removed after the current test. */
export function folderOfTest(): string {
  const folder = newFolder();
  onTestFinished(() => remove(folder));
  return folder;
}
