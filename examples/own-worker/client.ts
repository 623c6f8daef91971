import { resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

const [input = 'examples/brands.csv', urlColumn = 'source'] = process.argv.slice(2);

const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, namespace });

// Starts the workflow by its name, with plain JSON, as a client in any language can.
// Because the id is fixed, two runs are never in progress at once.
const handle = await client.workflow.start('enrichCsv', {
  taskQueue: 'own-worker',
  workflowId: 'enrich-brands',
  args: [
    { input: resolve(input), urlColumn, into: resolve('out/own-worker.duckdb'), csv: resolve('out/own-worker.csv') },
  ],
});
console.log(`Started ${handle.workflowId}`);
console.log(JSON.stringify(await handle.result(), null, 2));
await connection.close();
