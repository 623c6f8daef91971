import { Context } from '@temporalio/activity';

/** The functions that stop the running activities of this process, with the run of each. */
const stops = new Map<() => void, Context['info']['workflowExecution']>();
/** Ids of workflows whose activities stop at their start. */
const held = new Set<string>();

/** Calls `stop` if the activities of this workflow are interrupted. Returns a function that ends this. */
export function onInterrupt(stop: () => void): () => void {
  const { workflowExecution: run } = Context.current().info;
  stops.set(stop, run);
  if (held.has(run?.workflowId ?? '')) stop();
  return () => void stops.delete(stop);
}

/** Stops the activities of a workflow or run in this process. Activities of other processes stop with their next heartbeat. */
export function interruptActivities(id: string): void {
  for (const [stop, run] of stops) if (run?.runId === id || run?.workflowId === id) stop();
}

/** Stops the activities of a workflow in this process, and those that begin before the returned function is called. */
export function holdActivities(workflowId: string): () => void {
  held.add(workflowId);
  interruptActivities(workflowId);
  return () => void held.delete(workflowId);
}
