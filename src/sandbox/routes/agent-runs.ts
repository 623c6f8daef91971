import { z } from 'zod';
import { toDollars } from '../../core/text/money.js';
import {
  checkRunInput,
  eventsOf,
  isTerminalAt,
  nextEventAt,
  type Run,
  type RunEvent,
  runEventFrame,
  runRecord,
} from '../agents/run-record.js';
import { badCursor, checkQuery, listQueryOf, pageOfList, Refusal } from '../base/refusal.js';
import { KEEP_ALIVE_FRAME } from '../base/sse.js';
import { requestPurchase } from '../ledger/log-file.js';
import { type Frames, jsonWork, plainRoute, type Route, type RouteContext, type Routes } from '../route.js';

/** `POST /agent/runs`: answers with the new run, or streams the events of the run until the run ends. */
const createAgentRun: Route = (input, context, { headers }) => {
  const betas = Object.entries(headers).find(([name]) => name.endsWith('-beta'))?.[1];
  const body = checkRunInput(input, String(betas ?? ''));
  return () => {
    const run = context.agentRuns.create(body);
    const purchase = requestPurchase('createAgentRun', input, 0, run.id);
    if (wantsStream(headers.accept)) return { body: liveFrames(run.id, context), purchase };
    return jsonWork(recordOf(run, context), { purchase });
  };
};

/** `GET /agent/runs`: newest first. The cursor is the id of the last run of the previous page. */
const listAgentRuns: Route = (_input, context, { query }) => {
  const { limit, cursor } = checkQuery(agentListQuery, query);
  return () => {
    const { data, hasMore, nextCursor } = pageOfList(context.agentRuns.newestFirst(cursor), limit, ({ id }) => id);
    return jsonWork({ object: 'list', data: data.map((run) => recordOf(run, context)), hasMore, nextCursor });
  };
};

function recordOf(run: Run, { now, options }: RouteContext): Record<string, unknown> {
  return runRecord(run, now(), options);
}

/**
 * Sends each event of a run at its time until the run ends, and comments during long silences. Ends early if the run is
 * deleted.
 */
function liveFrames(id: string, context: RouteContext): Frames {
  return async function* frames(gone) {
    const { agentRuns, timers, options } = context;
    const { progressEvents, keepAliveMs } = options.agentRuns;
    let sent = 0;
    let lastAt = context.now();
    while (!gone.aborted) {
      const run = agentRuns.find(id);
      if (!run) return;
      const now = context.now();
      const wake = AbortSignal.any([gone, agentRuns.nextWake()]);
      const events = eventsOf(run, now, progressEvents, options).slice(sent);
      for (const event of events) yield runEventFrame(event);
      sent += events.length;
      if (events.length > 0) lastAt = now;
      else if (now - lastAt >= keepAliveMs) {
        yield KEEP_ALIVE_FRAME;
        lastAt = now;
      }
      if (isTerminalAt(run, now)) return;
      const next = nextEventAt(run, now, progressEvents, options) ?? now + keepAliveMs;
      await timers.wait(Math.max(1, Math.min(next, lastAt + keepAliveMs) - context.now()), wake);
    }
  };
}

/** The id of the last event that a client has received. */
const lastEventId = z.string().regex(/^\d+$/);

/** `GET /agent/runs/{id}/events`: the stored events, as a list or as a stream that ends after the last of them. */
const listAgentRunEvents: Route = (_input, context, { params, query, headers }) => {
  const { limit, cursor } = checkQuery(agentListQuery, query);
  const seen = headers['last-event-id'];
  return () => {
    const { agentRuns, now, options } = context;
    const { progressEvents, replay } = options.agentRuns;
    const events = eventsOf(agentRuns.get(params.id), now(), progressEvents, options);
    if (!wantsStream(headers.accept)) return jsonWork(listOf(events, limit, cursor));
    const wanted = eventsAfter(events, seen, replay);
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

/** Query of the lists under `/agent/runs`. */
const agentListQuery = listQueryOf(100, 20, {});

/** Whether the caller requests an event stream. */
function wantsStream(accept: string | undefined): boolean {
  return accept?.includes('text/event-stream') ?? false;
}

const DAY_MS = 86_400_000;
const MOST_DAYS = 180;
const TEAM = '660e8400-e29b-41d4-a716-446655440000';

const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional();
const usageQuery = z.looseObject({
  start_date: time,
  end_date: time,
  group_by: z.enum(['hour', 'day', 'month']).optional(),
});

/** `GET /team-management/api-keys/{id}/usage`: the charges of a key in a period. `group_by` changes nothing. */
const keyUsage: Route = (_input, { ledger }, { params, query }) => {
  const now = Date.now();
  const { start_date: from = now - 30 * DAY_MS, end_date: to = now } = checkQuery(usageQuery, query);
  if (from < now - (MOST_DAYS + 1) * DAY_MS)
    throw new Refusal(400, 'INVALID_REQUEST', `start_date must be within the last ${MOST_DAYS} days`);
  if (to < from) throw new Refusal(400, 'INVALID_REQUEST', 'end_date is before start_date');
  const id = params.id;
  return () => {
    const charges = ledger.usage.between(id, from, to);
    return jsonWork({
      api_key_id: id,
      api_key_name: null,
      team_id: TEAM,
      period: { start: new Date(from).toISOString(), end: new Date(to).toISOString() },
      total_cost_usd: toDollars(charges.reduce((sum, { micros }) => sum + micros, 0)),
      cost_breakdown: charges.map(({ price, quantity, micros }) => ({
        price_id: `price_${price.replace(/\W+/g, '_')}`,
        price_name: price,
        quantity,
        amount_usd: toDollars(micros),
      })),
      metadata: { generated_at: new Date(now).toISOString() },
    });
  };
};

export const agentRoutes: Routes = {
  'POST /agent/runs': { route: createAgentRun, weight: 2 },
  'GET /agent/runs': { route: listAgentRuns, weight: 0 },
  'GET /agent/runs/:id': {
    route: plainRoute((context, { id }) => recordOf(context.agentRuns.get(id), context)),
    weight: 0,
  },
  'DELETE /agent/runs/:id': {
    route: plainRoute((context, { id }) => {
      context.agentRuns.delete(id);
      return { id, object: 'agent_run.deleted', deleted: true };
    }),
  },
  /** A run that has ended is returned unchanged. */
  'POST /agent/runs/:id/cancel': {
    route: plainRoute((context, { id }) => recordOf(context.agentRuns.cancel(id), context)),
  },
  /** Only for the efforts max and ultra. */
  'POST /agent/runs/:id/stop': {
    route: plainRoute((context, { id }) => recordOf(context.agentRuns.stop(id), context)),
  },
  'GET /agent/runs/:id/events': { route: listAgentRunEvents, weight: 0 },
  'GET /team-management/api-keys/:id/usage': { route: keyUsage, weight: 0 },
};
