import { workflowInfo } from '@temporalio/workflow';
import type { Json } from '../../core/text/json.js';
import type { RunResearchOptions } from '../../core/workflow-input-schemas.js';
import type { ResearchResult } from '../../core/workflow-result-schemas.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { slicePolicy } from '../shared/policies.js';
import { publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';
import { RunView, runToEnd } from './run-to-end.js';

const { researchRun } = summarizedActivities(slicePolicy, { researchRun: 'start and follow the task' });

/**
 * `runResearch`: executes one research task, from its start to its result, like `runAgent`. The service cannot end a task: after a cancel
 * of the workflow the task stays in progress, and a later workflow with the same request takes it over.
 *
 * Start the workflow by name with plain JSON: the request and `RunResearchOptions`. Query `progress`. API reference:
 * /research/tasks.
 */
export async function runResearch(
  request: { readonly [field: string]: Json },
  options: RunResearchOptions = {},
  ...extra: []
): Promise<ResearchResult> {
  publicInput('runResearch', [request, options], { extra });
  const step = { request, call: options ?? {}, askedAt: workflowInfo().startTime.getTime() };
  try {
    const result = await runToEnd(new RunView('Research task'), (sliceMs) => researchRun({ ...step, sliceMs }));
    // Without `until` the result is never null.
    return result as ResearchResult;
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('moves', runResearch);
