import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkflowBundle } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { mockOperations, type OperationMocks, sampleAnswers } from '../../suites/index.js';
import { mockWorkflows, type WorkflowMocks } from '../../suites/mock-workflows.js';
import { silence, temporalOfFile } from '../../support/temporal.js';

silence();
const temporal = temporalOfFile();
const root = fileURLToPath(new URL('../../../', import.meta.url));
let workflowBundle: WorkflowBundle;
beforeAll(async () => {
  const workflowsPath = fileURLToPath(new URL('../../support/worker/mocked-workflow.ts', import.meta.url));
  workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
});

/** Runs a workflow on a worker with mocks; returns its result, or type and message of its failure. */
async function run(mocks: OperationMocks, workflow: string, ...args: readonly unknown[]): Promise<unknown> {
  const taskQueue = randomUUID();
  const { nativeConnection: connection, namespace, client } = temporal;
  const activities = mockOperations(mocks);
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowBundle, activities });
  return worker.runUntil(
    client.workflow.execute(workflow, { taskQueue, workflowId: taskQueue, args: [...args] }).catch(({ cause }) => {
      const { type, message } = (cause.cause ?? cause) as ApplicationFailure;
      return [type, message];
    }),
  );
}

describe('mockOperations', () => {
  it('answers operations and rows, with the requests and costs of real ones', async () => {
    const asked: unknown[] = [];
    const mocks: OperationMocks = {
      search: (request) => {
        asked.push(request);
        return sampleAnswers.search(request);
      },
    };
    const rows = [{ company: 'a' }, { company: 'b' }, { company: 'a' }];
    const site = 'https://open-catalogue.example/acme-official-site-1';
    expect(await run(mocks, 'findSites', rows)).toEqual({ sites: [site, site, site], costDollars: 0.014 });
    expect(asked).toEqual(['a', 'b'].map((name) => ({ query: `${name} official site`, numResults: 1 })));
  });

  it.each(Object.keys(sampleAnswers).slice(0, 3))('buys rows with the sample answer of %s', async (name) => {
    const isPage = name === 'getContents';
    const template = { query: '{{company}}' };
    const how = isPage ? { urlField: 'url' } : { operation: name, template };
    const rows = ['a', 'b'].map((company) => ({ company, url: `https://${company}.example/` }));
    const { summary } = (await run(sampleAnswers, 'enrichRows', { rows, ...how })) as {
      summary: { succeeded: number };
    };
    expect(summary.succeeded).toBe(2);
  });

  it('fails an operation without a mock at once, and names it', async () => {
    const help = 'mockOperations has no mock of search. Add one: mockOperations({ search: (request) => … }).';
    expect(await run({ answer: sampleAnswers.answer }, 'call', 'search', { query: 'a' }, {})).toEqual(['NoMock', help]);
    expect(await run({}, 'findSites', [{ company: 'a' }])).toEqual(['NoMock', help]);
    expect(await run({}, 'call', 'readAnswer', { landed: [] }, {})).toEqual(['NoMock', expect.any(String)]);
  });

  it('refuses what the plugin refuses: a misspelt field, and a request above the cap', async () => {
    const request = { qurey: 'a' };
    expect(await run(sampleAnswers, 'call', 'search', request, {})).toEqual(['InvalidRequest', expect.any(String)]);
    const cap = { maxCostDollars: 0.001 };
    expect(await run(sampleAnswers, 'call', 'search', { query: 'a' }, cap)).toEqual([
      'BudgetExceeded',
      expect.any(String),
    ]);
  });

  it('passes the failure of a mock to the workflow', async () => {
    const answer = () => Promise.reject(ApplicationFailure.nonRetryable('no credits', 'PaymentRequired'));
    expect(await run({ answer }, 'call', 'answer', { query: 'a' }, {})).toEqual(['PaymentRequired', 'no credits']);
  });

  it('refuses a mock of an unknown name with the nearest one, and a mock that is no function', () => {
    expect(() => mockOperations({ serch: () => ({}) } as OperationMocks)).toThrow(
      'mockOperations: serch is not an operation; did you mean search?',
    );
    expect(() => mockOperations({ search: 5 as never })).toThrow('mockOperations: search must be a function');
    expect(() => mockWorkflows({ enrichCvs: () => ({}) } as WorkflowMocks)).toThrow(
      'mockWorkflows: enrichCvs is not a workflow; did you mean enrichCsv?',
    );
    expect(() => mockWorkflows({ enrichCsv: {} as never })).toThrow('mockWorkflows: enrichCsv must be a function');
  });

  it('has types that refuse misspelt names and fields', () => {
    const readByCompiler = () => [
      mockOperations({ ...sampleAnswers, search: async () => ({ results: [{ extras: { links: [{ own: 1 }] } }] }) }),
      mockOperations({ getMonitor: () => ({ id: 'a', metadata: { team: 'b' } }) } satisfies OperationMocks),
      // @ts-expect-error A field of a request.
      mockOperations({ search: ({ qurey }) => Promise.reject(qurey) }),
      // @ts-expect-error The name of an operation.
      mockOperations({ serch: () => ({ results: [] }) }),
      // @ts-expect-error A field that an answer needs.
      mockOperations({ search: () => ({ reslts: [] }) }),
      // @ts-expect-error A field of an answer.
      mockOperations({ search: () => ({ results: [], reqestId: 'a' }) }),
      // @ts-expect-error A field of an answer in a promise.
      mockOperations({ search: async () => ({ results: [], reqestId: 'a' }) }),
      // @ts-expect-error A field in an answer.
      mockOperations({ ...sampleAnswers, search: () => ({ results: [{ urll: 'a' }] }) }),
      // @ts-expect-error A field in an answer in a promise.
      mockOperations({ getContents: async () => ({ results: [], statuses: [{ id: 'a', staus: 'success' }] }) }),
      mockWorkflows({ enrichCsv: async ({ input }) => ({ job: input, phase: 'done' }) }),
      // @ts-expect-error The name of a workflow.
      mockWorkflows({ enrichCvs: () => ({ job: 'a' }) }),
      // @ts-expect-error No function.
      mockWorkflows({ enrichCsv: { job: 'a' } }),
      // @ts-expect-error A field of an input.
      mockWorkflows({ enrichCsv: ({ inpt }) => ({ job: inpt }) }),
      // @ts-expect-error A field of a result.
      mockWorkflows({ enrichCsv: async () => ({ jb: 'a' }) }),
      // @ts-expect-error A workflow without a stub.
      mockWorkflows({ enrichCsv: () => ({ job: 'a' }) }).syncEvents,
    ];
    expect(readByCompiler).toBeTypeOf('function');
  });

  it('stubs a workflow of the package that a workflow starts as a child', async () => {
    expect(await run({}, 'nightly', 'rows.csv')).toBe('job of rows.csv');
  });

  it('is loaded without vitest and without a database', () => {
    const hook = `export const resolve = (name, context, next) => {
      if (/^(vitest|@duckdb)/.test(name)) throw new Error(name);
      return next(name, context);
    };`;
    const program = `import { register } from 'node:module';
      register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)});
      const { mockOperations } = await import('searchflow/testing');
      process.stdout.write(typeof mockOperations({}).search);`;
    const args = ['--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect([stdout, stderr]).toEqual(['function', '']);
  });
});
