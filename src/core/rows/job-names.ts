/** Wire names of workflows, signals and queries. The names never change. */
export const workflowNames = {
  enrichCsv: 'enrichCsv',
  enrichRows: 'enrichRows',
  runAgentRows: 'runAgentRows',
  runAgent: 'runAgent',
  runResearch: 'runResearch',
  syncEvents: 'syncEvents',
  backfillEvents: 'backfillEvents',
  syncAgentRuns: 'syncAgentRuns',
  scheduledJob: 'scheduledJob',
  deliverAlert: 'deliverAlert',
} as const;
export const signalNames = {
  pause: 'pause',
  resume: 'resume',
  handOver: 'handOver',
  stop: 'stop',
  proven: 'proven',
  activityPaused: 'activityPaused',
  activityUnpaused: 'activityUnpaused',
} as const;

export const queryNames = { progress: 'progress' } as const;

/** Calls from workflows to the process that runs them, which are no part of their histories. `interrupt`: the activities stop. */
export type WorkflowSinks = { readonly searchflow: { interrupt(): void } };

/**
 * The memo of workflows that this program starts itself. The program has checked the input of such a workflow, or takes the input from an
 * earlier start.
 */
export const startedByUs = { startedBy: 'searchflow' } as const;

export const DEFAULT_TASK_QUEUE = 'searchflow';

/** Why a job is paused; `pauseFacts` has the meaning of each reason. */
export const pauseReasons = ['person', 'credits', 'budget', 'key', 'rate', 'service', 'request', 'failed'] as const;
export type PauseReason = (typeof pauseReasons)[number];

/**
 * `stopped`: a scheduled run had a reason to pause, or the command of the job was stopped. The id of a stopped job is free. The next run,
 * the same command or `resume` continues the job.
 */
export type JobPhase = 'planning' | 'running' | 'paused' | 'done' | 'stopped' | 'failed' | 'cancelled';

/** Whether the work has not ended. */
export const isUnderWay = (phase: JobPhase): boolean => ['planning', 'running', 'paused'].includes(phase);
