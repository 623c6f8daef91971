import { copyFileSync } from 'node:fs';
import { inject } from 'vitest';

/** Copies a DuckDB warehouse without rows to `file`; the copy is a hundred times faster than the creation of all tables. */
export function placeEmptyWarehouse(file: string): string {
  copyFileSync(inject('emptyWarehouse'), file);
  return file;
}
