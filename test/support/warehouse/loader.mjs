// A process that loads batches until it is done or killed. Prints a line after each. `address`: as for createWarehouses.
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
