import { z } from 'zod';
import { enrichedPage } from '../core/enrich-rows-schemas.js';
import { jobProgress, jobSummary, resumption } from '../core/row-job-schemas.js';
import { decision, type workflowInputs } from '../core/workflow-input-schemas.js';
import * as results from '../core/workflow-result-schemas.js';

/** A signal, a query or an update: its effect, the schema of its content, and the schema of its answer. */
interface Message {
  readonly does: string;
  readonly content?: z.ZodType;
  readonly answer?: z.ZodType;
}
type Messages = { readonly [name: string]: Message };

/** The messages of a workflow and the schema of its result. `result` is null for a workflow that does not end by itself. */
export interface WorkflowInterface {
  readonly result: z.ZodType | null;
  readonly signals: Messages;
  readonly queries: Messages;
  readonly updates: Messages;
}

const pause = { does: 'Pauses the work. Requests in flight land first.' };
const stop = {
  does: 'Ends the work as `stopped` after requests in flight have landed. The content is the reason, in a few words.',
  content: z.string().optional(),
};
/** Sent by activities. The content is the number of the piece. */
const paused = {
  activityPaused: { does: 'Sent by an activity that a person paused in Temporal: the work pauses.', content: z.int() },
  activityUnpaused: {
    does: 'Sent by an activity that a person unpaused in Temporal: the work resumes.',
    content: z.int(),
  },
};
const progress = (answer: z.ZodType) => ({ progress: { does: 'Returns the progress.', answer } });

const rowJob: WorkflowInterface = {
  result: jobSummary,
  signals: {
    pause,
    resume: {
      does: 'Resumes the job. The content may change the cap of the run. A content with a wrong value is ignored.',
      content: resumption.optional(),
    },
    stop,
    handOver: { does: 'Sent by a command before it cancels the job: runs at the service stay for its next start.' },
    proven: { does: 'Sent by an activity of the job after its first usable answer: more requests may be in flight.' },
    ...paused,
  },
  queries: progress(jobProgress),
  updates: {},
};
const walk: WorkflowInterface = {
  result: results.walkSummary,
  signals: { pause, resume: { does: 'Resumes the walk.' }, stop, ...paused },
  queries: progress(results.walkProgress),
  updates: {},
};

/** A workflow that takes no messages. */
const plain = (result: z.ZodType | null): WorkflowInterface => ({ result, signals: {}, queries: {}, updates: {} });
const asked = (result: z.ZodType, answer: z.ZodType): WorkflowInterface => ({
  ...plain(result),
  queries: progress(answer),
});

const decides = (does: string): Message => ({
  does: `${does} Refused unless the batch waits for a decision.`,
  content: decision,
  answer: results.batchProgress,
});

/** The results and messages of each workflow. Their inputs are in `core/workflow-input-schemas.ts`. */
export const workflowInterface = {
  enrichCsv: rowJob,
  enrichRows: plain(enrichedPage),
  runAgentRows: rowJob,
  runAgent: asked(results.agentRunResult, results.runProgress),
  runResearch: asked(results.researchResult, results.runProgress),
  syncEvents: walk,
  backfillEvents: walk,
  exportMonitorRuns: {
    ...asked(results.monitorExport, results.monitorExport),
    signals: {
      runsChanged: {
        does: 'Tells of new runs: the export reads them once more before it ends. With a start, it is a doorbell.',
      },
    },
  },
  syncAgentRuns: asked(results.agentRunSync, results.agentRunSync),
  batchMonitors: {
    ...asked(results.batchSummary, results.batchProgress),
    updates: {
      approve: decides('Approves the batch.'),
      reject: decides('Rejects the batch, which ends as `rejected`.'),
    },
  },
  createMonitor: plain(results.createdMonitor),
  monitorCall: plain(results.operationResult(z.unknown())),
  scheduledJob: plain(results.scheduledOutcome),
  deliverAlert: plain(null),
} as const satisfies { readonly [Name in keyof typeof workflowInputs]: WorkflowInterface };
