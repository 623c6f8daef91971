import { Context } from '@temporalio/activity';

/** The functions that stop the running activities of this process, by the run of their workflow. */
const stops = new Map<string, Set<() => void>>();

/** Calls `stop` if the workflow of this activity interrupts its activities. Returns a function that ends this. */
export function onInterrupt(stop: () => void): () => void {
  const { runId = '' } = Context.current().info.workflowExecution ?? {};
  const all = stops.get(runId) ?? new Set();
  stops.set(runId, all.add(stop));
  return () => {
    all.delete(stop);
    if (all.size === 0) stops.delete(runId);
  };
}

/** Stops the activities of a run of a workflow in this process. Activities of other processes stop with their next heartbeat. */
export function interruptActivities(runId: string): void {
  for (const stop of stops.get(runId) ?? []) stop();
}
