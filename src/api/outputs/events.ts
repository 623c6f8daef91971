import { z } from 'zod';
import { count, flag, list, maybeText, number, text } from '../../core/base-schemas.js';
import { walkProgress, walkSummary } from '../../core/workflow-result-schemas.js';

/** The end of a sync, a backfill or a verification. */
export const walk = z.object({ kind: z.literal('events'), job: text, ...walkSummary.shape, watermark: maybeText });

const walkShown = walkProgress.omit({ next: true }).shape;
/** A walk that waits for a person. */
export const pausedWalk = z.object({ kind: z.literal('paused'), job: text, code: text, ...walkShown });

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
      watermark: maybeText,
      lagSeconds: count.nullable(),
      completedAt: maybeText,
      completedSecondsAgo: count.nullable(),
      sweptAt: maybeText,
      beganAt: maybeText,
      from: maybeText,
      to: maybeText,
    }),
  ),
  types: list(z.object({ type: text, events: count, known: flag, latest: maybeText })),
});
