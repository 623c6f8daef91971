// A process that exports a job and prints the result. `kind`: csv or parquet. `address`: the warehouse.
import { createWarehouses } from '../../../dist/warehouse/index.js';

const [, , address, job, kind, target] = process.argv;
const warehouses = createWarehouses();
const { rows } = warehouses.open(address);
try {
  const { rows: count } = await (kind === 'csv' ? rows.exportCsv(job, target) : rows.exportParquet(job, target));
  process.stdout.write(`${count}\n`);
} catch (error) {
  process.stdout.write(`${error.name}: ${error.message}\n`);
}
await warehouses.close();
