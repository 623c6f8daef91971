import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { findSites } from './workflows.js';

const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, namespace });
const companies = process.argv.slice(2).map((company) => ({ company }));
const found = await client.workflow.execute<typeof findSites>('findSites', {
  ...{ taskQueue: 'research', workflowId: `sites-${randomUUID()}` },
  args: [companies],
});
console.log(JSON.stringify(found));
await connection.close();
