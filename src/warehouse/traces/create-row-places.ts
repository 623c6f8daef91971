import type { RowPlace, RowPlaces } from '../../core/rows/loaded-row.js';
import type { RowDatabase } from '../rows/row-sql.js';
import { failedRows } from './failed-rows.js';
import { placeOf } from './place-of.js';

/** Returns the reader of single rows of a database. */
export function createRowPlaces({ exists, transaction }: Pick<RowDatabase, 'exists' | 'transaction'>): RowPlaces {
  return {
    async failedRows(job, filter) {
      if (!(await exists())) return { groups: [], rows: [] };
      return transaction('readAll', (tx) => failedRows(tx, job, filter));
    },
    async placeOf(job, name): Promise<RowPlace | null> {
      if (!(await exists())) return null;
      return transaction('readAll', (tx) => placeOf(tx, job, name));
    },
  };
}
