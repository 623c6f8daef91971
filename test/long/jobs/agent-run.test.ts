import { randomUUID } from 'node:crypto';
import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { queryNames, workflowNames } from '../../../src/core/rows/job-names.js';
import type { AgentRequest, RunAgentOptions } from '../../../src/core/workflow-input-schemas.js';
import type { AgentRunResult, RunProgress } from '../../../src/core/workflow-result-schemas.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { type AgentOptions, type Service, startService } from '../../service/service.mjs';
import { closeAfterTest } from '../../support/after-test.js';
import { listen } from '../../support/cli/fake-runtime.js';
import { typeCommand, workingWith } from '../../support/cli/type-command.js';
import { Folder } from '../../support/jobs/folder.js';
import { type Host, startHost } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 20_000, interval: 10 };
const long = { min: 600_000, max: 600_000 };
const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, founded: { type: 'integer' } },
  required: ['name'],
};

interface Agents {
  readonly folder: Folder;
  host(): Host;
  anotherHost(): Promise<Host>;
  start(request: AgentRequest, options?: RunAgentOptions): Promise<WorkflowHandleWithFirstExecutionRunId>;
  run(request: AgentRequest, options?: RunAgentOptions): Promise<AgentRunResult>;
}

/** A worker for the service at this address, on a folder of its own. */
async function agents(baseUrl: string): Promise<Agents> {
  const folder = Folder.ofTest();
  const config = folder.config(baseUrl);
  let host = await startHost(temporal, config);
  onTestFinished(() => host.stop());
  const start = (...args: [AgentRequest, RunAgentOptions?]) =>
    temporal.client.workflow.start(workflowNames.runAgent, {
      workflowId: randomUUID(),
      taskQueue: config.taskQueue,
      args,
    });
  return {
    folder,
    host: () => host,
    async anotherHost() {
      await host.stop();
      host = await startHost(temporal, config);
      return host;
    },
    start,
    run: async (...args) => (await (await start(...args)).result()) as AgentRunResult,
  };
}

async function strict(options: AgentOptions = {}): Promise<Agents & { readonly service: Service }> {
  const service = closeAfterTest(await startService({ agents: options }));
  return { ...(await agents(service.url)), service };
}

const historyOf = async (handle: WorkflowHandleWithFirstExecutionRunId) => (await handle.fetchHistory()).events ?? [];
const read = (service: Service) =>
  expect.poll(() => [...service.agents.runs.values()].some(({ reads }) => reads > 0), soon).toBe(true);

describe('the command', () => {
  /** Types a command in a folder whose worker works for this service. */
  const typed = async (folder: Folder, url: string) => {
    closeAfterTest(await listen());
    return (line: string) => typeCommand(folder.dir, line, workingWith(temporal.client, folder.config(url)));
  };

  it('prints the result of a run, or each of its events once', async () => {
    const sandbox = closeAfterTest(await startSandbox({ agentRuns: { durationMs: 50 } }));
    const { folder } = await agents(sandbox.url);
    const type = await typed(folder, sandbox.url);
    const line = "agent run 'Who makes this?' --effort low --yes";
    const plain = await type(line);
    expect([plain.code, plain.refusal]).toEqual([0, '']);
    expect(plain.out).toContain('Sources:\n  https://');
    expect(plain.err).toMatch(/Agent run on [\s\S]*\n\S+: completed .*; \$0\.\d+\.\n$/);
    const again = await type(`${line} --json`);
    expect(JSON.parse(again.out)).toMatchObject({ status: 'completed', requests: [{ bought: false }] });
    const second = await type(`${line} --rebuy --stream --json`);
    const lines = second.out.trim().split('\n');
    const events = lines.slice(0, -1).map((one) => JSON.parse(one));
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ kind: 'result', requests: [{ bought: true }] });
    expect(events.length).toBeGreaterThan(1);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });
});

describe('runAgent', () => {
  it('returns text, structured output, grounding, usage and cost, and is free the second time', async () => {
    const sandbox = closeAfterTest(await startSandbox({ agentRuns: { budgetRate: 0 } }));
    const { start, run, host } = await agents(sandbox.url);
    const request = { query: 'Who makes this?', effort: 'low', outputSchema: schema, metadata: { own: 'tag' } };
    const handle = await start(request);
    const first = (await handle.result()) as AgentRunResult;
    expect(first).toMatchObject({
      status: 'completed',
      stopReason: 'schema_satisfied',
      text: expect.any(String),
      structured: { name: expect.any(String) },
      usage: { searches: expect.any(Number) },
      error: null,
      costDollars: 0.025,
      requests: [{ requestId: expect.any(String), costDollars: 0.025, bought: true }],
      leftOutBytes: null,
    });
    expect(first.grounding.length).toBeGreaterThan(0);
    expect(await run(request)).toEqual({ ...first, requests: [{ ...first.requests[0], bought: false }] });
    const chained = await run(
      { query: 'And where?', effort: 'low', previousRunId: first.runId },
      { deleteAfter: true },
    );
    expect(chained.status).toBe('completed');
    const second = await run(request, { refreshAfterMs: 0 });
    expect(second.runId).not.toBe(first.runId);
    expect(sandbox.bill()).toMatchObject({ micros: 75_000 });
    expect(sandbox.log().filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    const [record] = (await host().parts.deps.journal.read(first.landed)).values();
    expect(record?.result).toMatchObject({ id: second.runId, request: { metadata: { own: 'tag' } } });
    expect((await historyOf(handle)).length).toBeLessThanOrEqual(17);
  });

  it('shows the state of the run, and follows it on after a restart of its worker', async () => {
    const { service, start, anotherHost } = await strict({ durationMs: long });
    const handle = await start({ query: 'q' });
    await expect.poll(() => service.agents.runs.size, soon).toBe(1);
    await anotherHost();
    const progress = () => handle.query<RunProgress>(queryNames.progress);
    await expect
      .poll(progress, { timeout: 30_000, interval: 200 })
      .toMatchObject({ phase: 'running', runId: 'agent_run_000001', status: 'running', events: 0 });
    expect((await progress()).ageMs).toBeGreaterThanOrEqual(0);
    for (const run of service.agents.runs.values()) run.endsAt = 0;
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(service.agents.starts).toHaveLength(1);
  });
});

describe('cancelling runAgent', () => {
  it('cancels the run that is followed, and completes with its cost', async () => {
    const { service, start, host } = await strict({ durationMs: long });
    const handle = await start({ query: 'q' });
    await read(service);
    await handle.cancel();
    expect(await handle.result()).toMatchObject({ status: 'cancelled', costDollars: 0.25 });
    expect(service.agents.inProgress()).toBe(0);
    expect(await host().parts.deps.journal.totals('calls/')).toMatchObject({
      openMicros: 0,
      costMicros: 250_000,
      unknown: [],
    });
  });

  it('during the start leaves nothing running', async () => {
    const { service, start, host } = await strict({ durationMs: long });
    let answer: (() => void) | undefined;
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    service.next({ what: 'start', how: 'hold', until });
    const handle = await start({ query: 'q' });
    await expect.poll(() => service.agents.runs.size, soon).toBe(1);
    await handle.cancel();
    answer?.();
    expect(await handle.result()).toMatchObject({ status: 'cancelled' });
    expect(service.agents.inProgress()).toBe(0);
    expect((await host().parts.deps.journal.totals('calls/')).unknown).toEqual([]);
  });

  it('finds the run of a start whose answer was lost, and cancels it', async () => {
    const { service, start } = await strict({ durationMs: long });
    service.next({ what: 'start', how: 'lost' }, { what: 'look', how: 'status', status: 503, body: {} });
    const handle = await start({ query: 'q' });
    await expect.poll(() => service.agents.runs.size, soon).toBe(1);
    await handle.cancel();
    expect(await handle.result()).toMatchObject({ status: 'cancelled' });
    expect(service.agents.inProgress()).toBe(0);
    expect(service.agents.starts).toHaveLength(1);
  });
});

describe('a run that takes too long', () => {
  it.each([
    ['ultra', 'completed', 'stopped'],
    ['auto', 'cancelled', 'cancelled'],
  ])('of effort %s ends %s', async (effort, status, stopReason) => {
    // This service sends no times, so the worker measures the time by its own clock.
    const { service, run } = await strict({ durationMs: long, clockMs: null });
    const result = await run({ query: 'q', effort }, { maxDurationSeconds: 1 });
    expect(result).toMatchObject({ status, stopReason, costDollars: 0.25 });
    expect(service.agents.inProgress()).toBe(0);
    const [ended] = service.agents.runs.values();
    // The first poll must come before the usual five seconds.
    expect((ended?.endsAt ?? 0) - (ended?.startedAt ?? 0)).toBeLessThan(4900);
  });

  it('is not recognized by the clock of the service', async () => {
    const { run } = await strict({ durationMs: { min: 6000, max: 6000 }, clockMs: -600_000 });
    expect(await run({ query: 'q' }, { maxDurationSeconds: 60 })).toMatchObject({ status: 'completed' });
  });
});

it('runResearch returns the task, and is free the second time', async () => {
  const sandbox = closeAfterTest(await startSandbox({}));
  const { folder } = await agents(sandbox.url);
  const run = (request: object) =>
    temporal.client.workflow.execute(workflowNames.runResearch, {
      workflowId: randomUUID(),
      taskQueue: folder.dir,
      args: [request],
    });
  const first = await run({ input: { instructions: 'Find out' }, output: { schema } });
  expect(first).toMatchObject({ status: 'completed', task: { data: { name: expect.any(String) } } });
  const again = await run({ input: { instructions: 'Find out' }, output: { schema } });
  expect(again).toMatchObject({ taskId: (first as { taskId: string }).taskId, requests: [{ bought: false }] });
  const report = await run({ input: { instructions: 'Find out' } });
  expect(report).toMatchObject({ status: 'completed', task: { data: { report: expect.any(String) } } });
  expect(sandbox.bill().requests).toBe(2);
});
