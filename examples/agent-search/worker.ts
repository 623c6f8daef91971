import { fileURLToPath } from 'node:url';
import type { ModelProvider } from '@openai/agents-core';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { SearchflowPlugin } from 'searchflow/worker';

/** Returns a worker with both plugins. `modelProvider`: `new OpenAIProvider()` of `@openai/agents-openai`, or a model of yours. */
export async function researchWorker(connection: NativeConnection, namespace: string, modelProvider: ModelProvider) {
  return Worker.create({
    ...{ connection, namespace, taskQueue: 'agent-search' },
    workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
    // The agents package has dynamic imports, and a workflow bundle is one file.
    bundlerOptions: {
      webpackConfigHook: (config) => ({
        ...config,
        module: { ...config.module, parser: { javascript: { dynamicImportMode: 'eager' } } },
      }),
    },
    plugins: [
      new OpenAIAgentsPlugin({ modelProvider, modelParams: { startToCloseTimeout: '1 minute' } }),
      new SearchflowPlugin({
        apiKey: process.env.SEARCHFLOW_API_KEY ?? '',
        baseUrl: process.env.SEARCHFLOW_BASE_URL,
      }),
    ],
  });
}
