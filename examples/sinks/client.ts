import { resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

const [sink = 'table', input = 'examples/brands.csv', urlColumn = 'source'] = process.argv.slice(2);

const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, namespace });
const summary = await client.workflow.execute('enrichCsv', {
  taskQueue: 'sinks',
  workflowId: `enrich-into-${sink}`,
  args: [{ input: resolve(input), urlColumn, into: `sink:${sink}` }],
});
console.log(JSON.stringify(summary, null, 2));
await connection.close();
