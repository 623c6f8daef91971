import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operationExamples } from '../../../scripts/operation-examples.mjs';
import { operationsDoc, summaries } from '../../../scripts/operations-doc.mjs';
import { type Client, createClient } from '../../../src/api/client.js';
import { readMonitorBatch } from '../../../src/api/endpoints/monitor-batch.js';
import { operations, streams } from '../../../src/api/operations.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
const source = read('src/api/operations.ts');
const names = [...Object.keys(operations), ...Object.keys(streams)];

describe('docs/reference/operations.md', () => {
  it('equals the table of operations (else: npm run generate)', () => {
    expect(read('docs/reference/operations.md')).toBe(operationsDoc({ operations, streams }, source));
  });

  it('describes each operation and names its request as the source', () => {
    const summary: Record<string, string> = summaries(source);
    expect(Object.keys(summary).sort()).toEqual([...names].sort());
    const endpoints = {
      ...operations,
      ...Object.fromEntries(Object.entries(streams).map(([name, s]) => [name, s.endpoint])),
    };
    for (const [name, { method, path }] of Object.entries(endpoints))
      expect([name, summary[name]?.split(' API reference: ')[1]]).toEqual([name, `${method} ${path}.`]);
    expect(Object.keys(operationExamples).sort()).toEqual([...names].sort());
  });
});

describe('the example of', () => {
  let sandbox: Sandbox;
  let client: Client;
  beforeAll(async () => {
    sandbox = await startSandbox({ failureRate: 0, agentRuns: { durationMs: 300 } });
  });
  afterAll(() => sandbox.close());

  it.each(names)('%s runs and prints something', async (name) => {
    const code = (operationExamples as Record<string, string>)[name] ?? '';
    expect(code).toContain(name);
    client = createClient({ apiKey: 'test-key', baseUrl: sandbox.url });
    const shown: unknown[][] = [];
    const run = new Function('client', 'show', 'readMonitorBatch', `return (async () => {\n${code}\n})()`);
    await run(client, (...values: unknown[]) => void shown.push(values), readMonitorBatch);
    await client.close();
    expect(shown.length).toBeGreaterThan(0);
    // The answer has every field that the example reads.
    expect([name, inspect(shown[0])]).toEqual([name, expect.not.stringMatching(/^\[\s*undefined/)]);
  });
});
