import type { ErrorCode } from '../../core/errors/registry.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { DISK_FULL, OUT_OF_MEMORY } from '../shared/duckdb-error.js';

const cases: readonly (readonly [when: RegExp, say: (target: string) => string, code: ErrorCode])[] = [
  [
    DISK_FULL,
    (target) => `The disk of ${target} is full: free some space and publish again. The target is unchanged`,
    'warehouse-full',
  ],
  [
    /Permission denied|Read-only file system|EACCES|EROFS|EPERM/i,
    (target) => `${target} cannot be written by this user: change its permissions, or name another target`,
    'publish-target-unreachable',
  ],
  [
    OUT_OF_MEMORY,
    (target) =>
      `Publishing to ${target} needs more memory than it has: check for very large rows, or use --mode replace`,
    'warehouse-out-of-memory',
  ],
];

/** Returns an error of a publish as `WarehouseUnusable` with the fix. Returns any other error unchanged. */
export function publishError(error: unknown, target: string): unknown {
  if (!(error instanceof Error) || error instanceof WarehouseBusy || error instanceof WarehouseUnusable) return error;
  const found = cases.find(([when]) => when.test(error.message));
  return found ? new WarehouseUnusable(found[2], found[1](target), { cause: error }) : error;
}
