import { describe } from 'vitest';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { Folder } from '../../support/jobs/folder.js';
import { warehouseContract } from '../../support/monitors/warehouse-contract.js';

describe('monitors in a DuckDB file', () => {
  warehouseContract(async () => {
    const folder = new Folder();
    const warehouse = createWarehouses().open(folder.into).monitors;
    return {
      warehouse,
      query: async (sql) => {
        await warehouse.close();
        return folder.query(sql);
      },
      release: async () => folder.remove(),
    };
  });
});
