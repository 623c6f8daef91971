const { loadClientConnectConfig } = require('@temporalio/envconfig');
const { NativeConnection, Worker } = require('@temporalio/worker');
const { SearchflowPlugin } = require('searchflow/worker');

async function main() {
  const apiKey = process.env.SEARCHFLOW_API_KEY;
  if (!apiKey) throw new Error('Set SEARCHFLOW_API_KEY.');

  // TEMPORAL_ADDRESS (default: localhost:7233), TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_…
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  try {
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: 'own-worker',
      workflowsPath: require.resolve('./workflows.cjs'),
      plugins: [
        new SearchflowPlugin({
          apiKey,
          baseUrl: process.env.SEARCHFLOW_BASE_URL,
          stateDir: '.searchflow',
          store: process.env.SEARCHFLOW_STORE,
          // Inputs of workflows may name only files in these folders (default: the working folder),
          // and only databases on these hosts (default: none).
          paths: process.env.SEARCHFLOW_PATHS?.split(':'),
          hosts: process.env.SEARCHFLOW_HOSTS?.split(','),
          qps: 10,
        }),
      ],
    });
    await worker.run();
  } finally {
    await connection.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
