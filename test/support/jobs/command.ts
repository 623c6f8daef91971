import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { EnrichRequest, JobPlan, RuntimeConfig } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import type { openTemporal } from '../temporal.js';
import { Folder, type InputRow } from './folder.js';

export interface Outcome {
  readonly plan: JobPlan;
  /** The summary of the run; null if the plan had nothing to do. */
  readonly summary: JobSummary | null;
}

/** The request of `searchflow enrich` for a folder, with 20 URLs in each request. */
export const requestOf = (folder: Folder, changes: Partial<EnrichRequest> = {}): EnrichRequest => ({
  input: folder.input,
  urlColumn: null,
  delimiter: null,
  job: null,
  into: folder.into,
  csv: folder.csv,
  options: {},
  batch: 20,
  retryFailed: false,
  rebuy: false,
  ...changes,
});

/** Runs the steps of `searchflow enrich`, from the opening of the runtime to its closing, with 20 URLs in each request. */
export async function enrich(
  folder: Folder,
  config: RuntimeConfig,
  changes: Partial<EnrichRequest> = {},
): Promise<Outcome> {
  const runtime = await openRuntime(config);
  try {
    const plan = await (await runtime.work()).plan(requestOf(folder, changes));
    if (plan.status === 'complete') return { plan, summary: null };
    const handle = await (await runtime.work()).start(plan);
    return { plan, summary: await handle.result() };
  } finally {
    await runtime.close('drain');
  }
}

/** The settings that make a command use a server. */
export const serverOf = ({ address, namespace }: TestWorkflowEnvironment) => ({
  temporalAddress: address,
  namespace: namespace as string,
});

interface Surroundings {
  readonly temporal: TestWorkflowEnvironment;
  readonly sandbox: Sandbox;
}

/** Opens a Temporal server and a sandbox for all tests of a file. */
export function surroundings(open: typeof openTemporal, options: Partial<SandboxOptions>): Surroundings {
  const here = {} as { temporal: TestWorkflowEnvironment; sandbox: Sandbox };
  beforeAll(async () => {
    here.temporal = await open();
    here.sandbox = await startSandbox(options);
  });
  afterAll(async () => {
    await here.sandbox?.close();
    await here.temporal?.teardown();
  });
  return here;
}

/** A folder with these rows, and a function that runs `searchflow enrich` on it. */
export function openJob({ temporal, sandbox }: Surroundings, rows: readonly InputRow[]) {
  const folder = new Folder();
  onTestFinished(() => folder.remove());
  folder.write(rows);
  sandbox.reset();
  const config = folder.config(sandbox.url, serverOf(temporal));
  const run = (changes: Partial<EnrichRequest> = {}, used = config) => enrich(folder, used, changes);
  return { folder, run, config, bought: () => Object.keys(sandbox.bill().keys).length };
}
