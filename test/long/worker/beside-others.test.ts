import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { context, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Client, Connection } from '@temporalio/client';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import { SimplePlugin } from '@temporalio/plugin';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, expect, inject, it, onTestFinished } from 'vitest';
import { SearchflowPlugin } from '../../../dist/worker/index.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { fileNamespace, silence } from '../../support/temporal.js';

silence();
afterEach(() => {
  for (const api of [trace, context, propagation]) api.disable();
});

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const ROWS = 40;

/** The workflows of a team, which call ours as a child, and an interceptor of the team's own. */
function writeWorkflows(folder: Folder): { readonly workflowsPath: string; readonly interceptor: string } {
  mkdirSync(join(folder.dir, 'own'));
  symlinkSync(at('node_modules'), join(folder.dir, 'own', 'node_modules'));
  const workflowsPath = join(folder.dir, 'own', 'workflows.js');
  writeFileSync(
    workflowsPath,
    `import { executeChild, proxyActivities } from '@temporalio/workflow';
import { enrichCsv } from ${JSON.stringify(at('dist/workflows/index.js'))};
export * from ${JSON.stringify(at('dist/workflows/index.js'))};
const { greet } = proxyActivities({ startToCloseTimeout: '10s' });
export async function ownWorkflow(input) {
  const summary = await executeChild(enrichCsv, { args: [input], workflowId: 'own-child-' + input.input });
  return { greeting: await greet(summary.phase), summary };
}
`,
  );
  const interceptor = join(folder.dir, 'own', 'interceptor.js');
  writeFileSync(
    interceptor,
    `import { proxySinks } from '@temporalio/workflow';
export const interceptors = () => ({
  inbound: [{ execute: (input, next) => (proxySinks().own.seen(input.headers ? 'workflow' : ''), next(input)) }],
});
`,
  );
  return { workflowsPath, interceptor };
}

/** A folder with rows, a service that knows only \`key\`, and the plugin for them. */
async function open(key: string) {
  const folder = Folder.ofTest();
  folder.write(plainRows(ROWS));
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, keys: [key] });
  onTestFinished(() => sandbox.close());
  const { input, into, dir, stateDir } = folder;
  const plugin = () =>
    new SearchflowPlugin({
      ...{ apiKey: key, baseUrl: sandbox.url, stateDir, paths: [dir], qps: 100, say: () => undefined },
    });
  return { folder, sandbox, plugin, job: { input, into, batch: 10 } };
}

it('OpenTelemetry, a plugin of another kind, own interceptors and a bundle stand beside two plugins with two keys', async () => {
  const exporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor(exporter);
  const provider = new NodeTracerProvider({ spanProcessors: [processor] });
  provider.register();
  const one = await open('canary-key-one');
  const two = await open('canary-key-two');

  const seen: string[] = [];
  const other = new SimplePlugin({
    name: 'other',
    activities: { greet: async (phase: string) => `The job is ${phase}` },
    workerInterceptors: {
      activity: [
        ({ info }) => ({
          inbound: {
            execute: (input, next) => {
              seen.push(info.activityType);
              return next(input);
            },
          },
        }),
      ],
    },
    runContext: async (next) => {
      seen.push('run');
      await next();
      seen.push('ran');
    },
  });
  const { workflowsPath, interceptor } = writeWorkflows(one.folder);
  const tracing = new OpenTelemetryPlugin({ resource: provider.resource, spanProcessor: processor });
  const plugins = [one.plugin(), tracing, other];
  const logger = new DefaultLogger('ERROR');
  const bundled = { workflowsPath, workflowInterceptorModules: [interceptor], logger, plugins };
  const workflowBundle = await bundleWorkflowCode(bundled);

  const address = inject('temporalAddress');
  const connection = await NativeConnection.connect({ address });
  const shared = {
    ...{ connection, namespace: fileNamespace(), workflowBundle },
    sinks: { own: { seen: { fn: (_: unknown, kind: string) => void seen.push(kind) } } },
  };
  // The plugins of the second worker have the other order.
  const [first, second] = await Promise.all([
    Worker.create({ ...shared, taskQueue: 'one', plugins }),
    Worker.create({ ...shared, taskQueue: 'two', plugins: [tracing, two.plugin()] }),
  ]);
  const client = new Client({
    connection: await Connection.connect({ address }),
    namespace: fileNamespace(),
    plugins: [tracing],
  });
  const start = (name: string, taskQueue: string, workflowId: string, input: object) =>
    client.workflow.execute(name, { args: [input], taskQueue, workflowId });
  const [own, plain] = await first.runUntil(() =>
    second.runUntil(() =>
      Promise.all([start('ownWorkflow', 'one', 'own', one.job), start('enrichCsv', 'two', 'plain', two.job)]),
    ),
  );
  await client.connection.close();
  await connection.close();

  expect(own).toMatchObject({ greeting: 'The job is done', summary: { warehouse: { success: ROWS } } });
  expect(plain).toMatchObject({ phase: 'done', warehouse: { success: ROWS } });
  // Each key bought its own rows, each once.
  for (const { sandbox } of [one, two])
    expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: ROWS }, () => 1));
  expect(seen[0]).toBe('run');
  expect(seen.at(-1)).toBe('ran');
  expect(seen).toEqual(expect.arrayContaining(['workflow', 'enrichSlice', 'greet']));

  // Each job is one trace: the start by the client, the workflow, its activities.
  const spans = exporter.getFinishedSpans();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const path = (span: (typeof spans)[number] | undefined): string[] =>
    span ? [...path(byId.get(span.parentSpanId ?? '')), span.name] : [];
  const slices = spans.filter(({ name }) => name === 'RunActivity:enrichSlice');
  const childOf = (taskQueue: string) =>
    slices.map(path).find((names) => names.some((name) => name.endsWith(taskQueue)));
  expect(childOf('ownWorkflow')).toEqual(expect.arrayContaining(['StartChildWorkflow:enrichCsv']));
  expect(childOf('StartWorkflow:enrichCsv')).toEqual(expect.arrayContaining(['RunWorkflow:enrichCsv']));
  expect(new Set(slices.map((span) => span.spanContext().traceId)).size).toBe(2);
  const text = JSON.stringify(spans.map(({ name, attributes, events, status }) => [name, attributes, events, status]));
  expect(text).not.toMatch(/canary|site-1\.example/);
});
