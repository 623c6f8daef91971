import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from 'searchflow/worker';
import { jsonLinesSink } from './json-lines-sink.js';
import { postgresSink } from './postgres-sink.js';

async function main() {
  const { SEARCHFLOW_API_KEY: apiKey, SEARCHFLOW_BASE_URL: baseUrl, DATABASE_URL: databaseUrl } = process.env;
  if (!apiKey || !databaseUrl) throw new Error('Set SEARCHFLOW_API_KEY and DATABASE_URL.');
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const table = postgresSink(databaseUrl);
  const here = fileURLToPath(import.meta.url);
  try {
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: 'sinks',
      workflowsPath: join(dirname(here), `workflows${extname(here)}`),
      plugins: [
        new SearchflowPlugin({
          apiKey,
          baseUrl,
          stateDir: '.searchflow',
          // into: 'sink:table' and into: 'sink:files'
          sinks: { table, files: jsonLinesSink('out/lines') },
        }),
      ],
    });
    await worker.run();
  } finally {
    await connection.close();
    await table.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
