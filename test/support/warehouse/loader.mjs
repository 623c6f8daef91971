// A process that loads batches until all are loaded or it is killed. It prints a line after each batch. `address`: the warehouse, as for
// createWarehouses.
import { readFileSync } from 'node:fs';
import { createWarehouses } from '../../../dist/warehouse/index.js';

const [, , address, batchesFile] = process.argv;
const { batches } = JSON.parse(readFileSync(batchesFile, 'utf8'));
const warehouses = createWarehouses();
const warehouse = warehouses.open(address).rows;
for (const batch of batches) {
  const { already } = await warehouse.load(batch);
  if (!already) process.stdout.write(`${batch.slice}\n`);
}
await warehouses.close();
