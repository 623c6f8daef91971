import { copyFileSync } from 'node:fs';
import { inject } from 'vitest';

/** Puts a DuckDB warehouse with its tables and without rows at `file`: a copy takes a hundredth of the time of creating the tables. */
export function placeEmptyWarehouse(file: string): string {
  copyFileSync(inject('emptyWarehouse'), file);
  return file;
}
