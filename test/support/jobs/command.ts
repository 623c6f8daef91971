import { openRuntime } from '../../../dist/worker/index.js';
import type { EnrichRequest, JobPlan, RuntimeConfig } from '../../../dist/worker/runtime-types.js';
import type { JobSummary } from '../../../src/core/job.js';
import type { Folder } from './folder.js';

export interface Outcome {
  readonly plan: JobPlan;
  /** Null where the plan said that there is nothing to do. */
  readonly summary: JobSummary | null;
}

/** What `searchflow enrich` does, from opening the runtime to closing it, 20 URLs a request. */
export async function enrich(
  folder: Folder,
  config: RuntimeConfig,
  changes: Partial<EnrichRequest> = {},
): Promise<Outcome> {
  const runtime = await openRuntime(config);
  try {
    const plan = await runtime.plan({
      input: folder.input,
      urlColumn: null,
      delimiter: null,
      job: null,
      into: folder.into,
      csv: folder.csv,
      options: {},
      batch: 20,
      refreshAfterMs: null,
      retryFailed: false,
      rebuy: false,
      ...changes,
    });
    if (plan.standing === 'complete') return { plan, summary: null };
    const handle = await runtime.start(plan);
    return { plan, summary: await handle.result() };
  } finally {
    await runtime.close('drain');
  }
}
