import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { type JobEntry, stagesOf } from '../../core/rows/job-entries.js';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';
import { warehouseFile } from '../../warehouse/index.js';
import type { ForgetParts } from './forget-types.js';

/** The warehouses of all jobs that this machine can reach, each once, and a note for each other one. */
export function reachableWarehouses({ warehouses }: Pick<ForgetParts, 'warehouses'>, entries: readonly JobEntry[]) {
  const found = new Map<string, RowWarehouse>();
  const notes = new Set<string>();
  for (const { staged } of entries.flatMap(stagesOf)) {
    const { into, host = hostname() } = staged;
    const file = warehouseFile(into);
    if (file !== null && host !== hostname())
      notes.add(`The warehouse ${into} is a file on ${host}. Run the same command there, too`);
    else if (file === null || existsSync(file)) found.set(into, warehouses.of(staged));
    else notes.add(`The warehouse ${into} is missing. If it comes back, run the same command again`);
  }
  return { warehouses: [...found].map(([into, rows]) => ({ into, rows })), notes: [...notes] };
}
