import { fileURLToPath } from 'node:url';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from 'searchflow/worker';

const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await NativeConnection.connect(connectionOptions);
const worker = await Worker.create({
  ...{ connection, namespace, taskQueue: 'research' },
  workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
  plugins: [
    new SearchflowPlugin({
      apiKey: process.env.SEARCHFLOW_API_KEY ?? '',
      baseUrl: process.env.SEARCHFLOW_BASE_URL,
    }),
  ],
});
await worker.run();
await connection.close();
