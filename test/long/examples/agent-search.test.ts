import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Model, ModelProvider, ModelRequest } from '@openai/agents-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ofFile } from '../../support/of-file.js';
import { examplePath } from '../../support/run-example.js';
import { temporalOfFile } from '../../support/temporal.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const temporal = temporalOfFile();
const sandbox = ofFile(() => startSandbox({ failureRate: 0 }));
beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', examplePath('agent-search')]);
  vi.stubEnv('SEARCHFLOW_API_KEY', 'key');
  vi.stubEnv('SEARCHFLOW_BASE_URL', sandbox.url);
});
afterAll(async () => {
  vi.unstubAllEnvs();
});

/** A model that searches for the question first, and then answers with what the search found. */
class ScriptedModel implements Model {
  async getResponse({ input }: ModelRequest): ReturnType<Model['getResponse']> {
    const items = typeof input === 'string' ? [] : input;
    const found = items.find(({ type }) => type === 'function_call_result');
    const call = {
      ...{
        type: 'function_call' as const,
        id: 'call-1',
        callId: 'call-1',
        name: 'web_search',
        status: 'completed' as const,
      },
      arguments: JSON.stringify({ query: 'Acme founder' }),
    };
    const answer = {
      ...{ type: 'message' as const, role: 'assistant' as const, status: 'completed' as const },
      content: [{ type: 'output_text' as const, text: JSON.stringify(found) }],
    };
    const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    return { output: [found ? answer : call], usage: usage as never };
  }

  getStreamedResponse(): never {
    throw new Error('not used');
  }
}

it('examples/agent-search answers with pages that its tool bought', async () => {
  const { researchWorker } = (await import(
    examplePath('agent-search/lib/worker.js')
  )) as typeof import('../../../examples/agent-search/worker.js');
  const provider: ModelProvider = { getModel: () => new ScriptedModel() };
  const worker = await researchWorker(temporal.nativeConnection, temporal.namespace as string, provider);
  const answer = await worker.runUntil(
    temporal.client.workflow.execute('research', {
      ...{ taskQueue: 'agent-search', workflowId: 'agent-search' },
      args: ['Who founded Acme?'],
    }),
  );
  expect(answer).toMatch(/https:\/\/\S+acme-founder-1/);
  expect(sandbox.bill().requests).toBe(1);
});
