import { z } from 'zod';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import * as results from '../../core/workflow-result-schemas.js';
import { agentRun, agentRunEvent } from '../schemas/agent-run-schemas.js';

/** The result of an agent run. */
export const agentResult = results.agentRunResult;
/** `--stream`: a line for each event of the service, then the result. */
export const streamedResult = z.object({ kind: z.literal('result'), ...agentResult.shape });
export const agentEvent = agentRunEvent;

/** Agent runs as the service returns them. */
export const agentRuns = list(agentRun);
export const agent = agentRun;

/** Monitors, or runs of a monitor, as the service returns them. */
export const serviceObject = z.looseObject({ id: text });
export const serviceObjects = list(serviceObject);

export const deletedMonitor = z.object({ kind: z.literal('deleted'), id: text });

export const createdMonitor = z.object({ kind: z.literal('monitor'), ...results.createdMonitor.shape });

/** The effect of a batch. */
export const batch = z.object({ kind: z.literal('batch'), ...results.batchSummary.shape });

/** A decision on a batch that another process runs. */
export const decision = z.object({
  kind: z.literal('decision'),
  job: text,
  decision: z.enum(['approve', 'reject']),
  by: text,
});

/** What an export of monitors loaded. */
export const monitorRuns = z.object({ kind: z.literal('export'), ...results.monitorExport.shape });

/** What a sync of agent runs loaded. */
export const agentSync = z.object({ kind: z.literal('agent-sync'), ...results.agentRunSync.shape });

/** The end of a sync, a backfill or a verification. */
export const walk = z.object({ kind: z.literal('events'), job: text, ...results.walkSummary.shape });

const walkShown = results.walkProgress.omit({ next: true }).shape;
/** A walk that waits for a person. */
export const pausedWalk = z.object({ kind: z.literal('paused'), job: text, code: text, ...walkShown });

const time = number.nullable();
/** The streams of a warehouse and the walks that load them. */
export const eventStatus = z.object({
  kind: z.literal('events'),
  known: flag,
  missing: text.optional(),
  running: list(z.object({ job: maybeText, ...walkShown })),
  interrupted: list(
    z.object({
      job: maybeText,
      stream: text,
      state: z.enum(['failed', 'stopped', 'interrupted', 'done']),
      message: maybeText,
      resumeText: maybeText,
    }),
  ),
  into: text,
  origin: text,
  events: count,
  streams: list(
    z.object({
      stream: text,
      kind: text,
      types: list(text),
      ...{ pages: count, events: count, added: count, changed: count },
      windows: count,
      windowsLeft: count,
      share: number.nullable(),
      ...{ watermark: time, sweptAt: time, beganAt: time, completedAt: time, from: time, to: time },
      ...{ lagSeconds: count.nullable(), completedSecondsAgo: count.nullable() },
    }),
  ),
  types: list(z.object({ type: text, events: count, known: flag, latest: time })),
});
