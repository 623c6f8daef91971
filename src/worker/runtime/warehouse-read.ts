import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import type { RuntimeParts } from './runtime-parts.js';

/** What a warehouse answered, or why it cannot be read now. */
export interface WarehouseRead<T> {
  /** Null if the warehouse cannot be read. */
  readonly value: T | null;
  /** A sentence without its dot; null: the warehouse was read. */
  readonly problem: string | null;
}

/** Reads the warehouse of a job, which may be busy or unusable. */
export async function readWarehouse<T>(parts: RuntimeParts, read: () => Promise<T>): Promise<WarehouseRead<T>> {
  try {
    return { value: await read(), problem: null };
  } catch (error) {
    if (error instanceof WarehouseBusy) return { value: null, problem: busyText(parts, error) };
    if (error instanceof WarehouseUnusable) return { value: null, problem: error.message.replace(/\.$/, '') };
    throw error;
  }
}

/** A worker has a DuckDB file open while it loads. */
function busyText({ store }: RuntimeParts, { message, pid }: WarehouseBusy): string {
  if (pid === null || pid !== store.holder()) return message.replace(/\.$/, '');
  const [opened] = message.split(': close it there');
  return `${opened}, which is the worker of this folder and is loading rows. Run the command again in a moment, or when the job pauses or ends`;
}
