import type { Info } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { jobOfWorkflow } from '../../core/rows/job.js';
import type { WatchedRun } from '../../core/schedule.js';
import { awaitEnd } from '../schedules/schedule-view.js';

/** Most runs whose end is awaited, each by a request that waits at the server. Of further runs only the start is reported. */
const MOST_FOLLOWED = 100;

/** Reports each run when its first activity runs here. Also reports the end of the run, even if the run ends on another worker. */
export function runWatch(client: Client, report: (run: WatchedRun) => void): ActivityInterceptorsFactory {
  const known = new Set<string>();
  let followed = 0;
  const watch = async ({ workflowExecution, workflowType }: Info): Promise<void> => {
    if (!workflowExecution || !workflowType) return;
    const { workflowId, runId } = workflowExecution;
    // A run that continues as new keeps its workflow id.
    if (known.has(workflowId)) return;
    known.add(workflowId);
    const run = { job: jobOfWorkflow(workflowId), workflowType };
    report({ ...run, phase: 'running', message: null, summary: null });
    if (followed >= MOST_FOLLOWED) return void known.delete(workflowId);
    followed++;
    try {
      report({ ...run, ...(await awaitEnd(client.workflow.getHandle(workflowId, runId))) });
    } finally {
      followed--;
      known.delete(workflowId);
    }
  };
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        // If the server cannot be reached, the end is not reported; the run itself continues.
        watch(info).catch(() => undefined);
        return next(input);
      },
    },
  });
}
