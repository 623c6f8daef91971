import { z } from 'zod';
import { isTerminalAt } from '../agents/run.js';
import { eventsOf, nextEventAt, type RunEvent, runEventFrame } from '../agents/run-events.js';
import { checkQuery } from '../base/check-input.js';
import { badCursor, pageOfList } from '../base/page-of-list.js';
import { Refusal } from '../base/refusal.js';
import { KEEP_ALIVE_FRAME } from '../base/sse.js';
import { type Frames, jsonWork, type Route, type RouteContext } from '../route.js';
import { agentListQuery, wantsStream } from './agent-requests.js';

/**
 * Sends each event of a run at its time until the run ends, and comments during long silences. Ends early if the run is
 * deleted.
 */
export function liveFrames(id: string, context: RouteContext): Frames {
  return async function* frames(gone) {
    const { agentRuns, timers, pages } = context;
    const { progressEvents, keepAliveMs } = agentRuns.options;
    let sent = 0;
    let lastAt = agentRuns.now;
    while (!gone.aborted) {
      const run = agentRuns.find(id);
      if (!run) return;
      const { now } = agentRuns;
      const wake = AbortSignal.any([gone, agentRuns.nextWake()]);
      const events = eventsOf(run, now, progressEvents, pages).slice(sent);
      for (const event of events) yield runEventFrame(event);
      sent += events.length;
      if (events.length > 0) lastAt = now;
      else if (now - lastAt >= keepAliveMs) {
        yield KEEP_ALIVE_FRAME;
        lastAt = now;
      }
      if (isTerminalAt(run, now)) return;
      const next = nextEventAt(run, now, progressEvents) ?? now + keepAliveMs;
      await timers.wait(Math.max(1, Math.min(next, lastAt + keepAliveMs) - agentRuns.now), wake);
    }
  };
}

/** The id of the last event that a client has received. */
const lastEventId = z.string().regex(/^\d+$/);

/** `GET /agent/runs/{id}/events`: the stored events, as a list or as a stream that ends after the last of them. */
export const listAgentRunEvents: Route = (_input, context, { params, query, headers }) => {
  const { limit, cursor } = checkQuery(agentListQuery, query);
  const seen = headers['last-event-id'];
  return () => {
    const { agentRuns, pages } = context;
    const run = agentRuns.get(params.id as string);
    const events = eventsOf(run, agentRuns.now, agentRuns.options.progressEvents, pages);
    if (!wantsStream(headers.accept)) return jsonWork(listOf(events, limit, cursor));
    const wanted = eventsAfter(events, seen, agentRuns.options.replay);
    return { body: () => wanted.map(runEventFrame) };
  };
};

function listOf(events: readonly RunEvent[], limit: number, cursor: string | undefined): unknown {
  const from = cursor === undefined ? 0 : events.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && from === 0) throw badCursor();
  const { data, hasMore, nextCursor } = pageOfList(events.slice(from), limit, ({ id }) => id);
  const items = data.map(({ at, ...event }) => ({ ...event, createdAt: new Date(at).toISOString() }));
  return { object: 'list', data: items, hasMore, nextCursor };
}

function eventsAfter(
  events: readonly RunEvent[],
  seen: string | string[] | undefined,
  replay: 'full' | 'refuse' | 'forget',
): readonly RunEvent[] {
  if (seen === undefined || replay === 'forget') return events;
  if (replay === 'refuse' || !lastEventId.safeParse(seen).success) {
    throw new Refusal(400, 'INVALID_REQUEST', 'Last-Event-ID: no such event');
  }
  return events.slice(Number(seen));
}
