import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from 'searchflow/worker';

const apiKey = process.env.SEARCHFLOW_API_KEY;
if (!apiKey) throw new Error('Set SEARCHFLOW_API_KEY.');

// TEMPORAL_ADDRESS (default: localhost:7233), TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_…
const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await NativeConnection.connect(connectionOptions);
// The workflows are beside this file: workflows.js when compiled, workflows.ts under tsx.
const here = fileURLToPath(import.meta.url);
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'own-worker',
  workflowsPath: join(dirname(here), `workflows${extname(here)}`),
  plugins: [
    new SearchflowPlugin({
      apiKey,
      baseUrl: process.env.SEARCHFLOW_BASE_URL,
      stateDir: '.searchflow',
      // Workers with the same PostgreSQL database share the journal, the rate limit and the budget.
      store: process.env.SEARCHFLOW_STORE,
      // Inputs of workflows may name only files in these folders (default: the working folder),
      // and only databases on these hosts (default: none).
      paths: process.env.SEARCHFLOW_PATHS?.split(':'),
      hosts: process.env.SEARCHFLOW_HOSTS?.split(','),
      qps: 10,
    }),
  ],
});
// The worker runs until SIGINT or SIGTERM. Paid calls in flight then have ten seconds to land.
await worker.run();
await connection.close();
