import { millisOf, type Settings } from '../base/options.js';
import { itemsAfter, listQueryOf, pageOf, Refusal } from '../base/refusal.js';
import { fraction, hashText } from '../base/sentences.js';
import { Table } from '../base/table.js';
import { saleOf } from '../ledger/log-file.js';
import { type Call, type Frames, KEEP_ALIVE_FRAME, plain, type Routes, route, sseFrame } from '../route.js';
import type { World } from '../world.js';
import type { Run, RunInput } from './run-record.js';
import * as runs from './run-record.js';

/** The agent runs of the team. There is no timer: a run's state follows from the current time. */
export function agentRunsOf(world: World): Table<Run> {
  return new Table(world, {
    fact: 'agent-run',
    ids: 'agent',
    noun: 'agent run',
    schema: runs.runSchema,
    run: {
      operation: 'createAgentRun',
      endOf: runs.endOf,
      priceOf: (run) => runs.usageOf(run, world.options.seed).micros,
    },
  });
}

/** Starts a run. Refuses if the credits or the slots are used up, or if the previous run is missing or not completed. */
function startRun(request: RunInput, agentRuns: Table<Run>, { now, options }: World): Run {
  const { previousRunId: previous } = request;
  const earlier = previous === undefined ? undefined : agentRuns.find(previous);
  const refuse = (tag: string, why: string) => new Refusal(400, `previousRunId: ${why}`, { tag });
  if (previous !== undefined && !earlier) throw refuse('PREVIOUS_RUN_NOT_FOUND', `there is no agent run ${previous}`);
  if (earlier && runs.statusAt(earlier, now()) !== 'completed') {
    throw refuse('PREVIOUS_RUN_NOT_COMPLETED', `the agent run ${previous} is not completed`);
  }
  const { maxInProgress, queuedMs, durationMs } = options.agentRuns;
  return agentRuns.start(maxInProgress, 'CONCURRENCY_LIMIT_REACHED', (digits) => {
    const id = `agent_run_${digits}`;
    const hash = hashText(id, options.seed);
    const createdAt = now();
    const startsAt = createdAt + millisOf(queuedMs, fraction(hash, 121));
    const endsAt = startsAt + millisOf(durationMs, fraction(hash, 122));
    return { id, createdAt, startsAt, endsAt, ...outcomeOf(hash, request, options), request, ended: null };
  });
}

function outcomeOf(
  hash: number,
  { effort = 'auto' }: RunInput,
  { agentRuns }: Settings,
): Pick<Run, 'status' | 'stopReason'> {
  const chance = (share: number, salt: number) => fraction(hash, salt) < share;
  if (chance(agentRuns.failureRate, 123)) return { status: 'failed', stopReason: 'error' };
  if (chance(agentRuns.unknownStatusRate, 124)) return { status: 'archived', stopReason: null };
  if (chance(agentRuns.unknownStopReasonRate, 125)) return { status: 'completed', stopReason: 'evidence_exhausted' };
  const isOver = runs.isMetered(effort) && chance(agentRuns.budgetRate, 126);
  return { status: 'completed', stopReason: isOver ? 'budget_reached' : 'schema_satisfied' };
}

/** Ends a run in progress. A run that has ended does not change. */
function endRun(id: string, how: 'cancelled' | 'stopped', agentRuns: Table<Run>, { now, timers }: World): Run {
  const run = agentRuns.get(id);
  const at = now();
  if (at >= runs.endOf(run)) return run;
  const ended = { ...run, ended: { how, at } };
  agentRuns.put(ended);
  agentRuns.close(ended);
  timers.wake();
  return ended;
}

/** Sends each event of a run at its time until the run ends, and comments during long silences. Ends early if the run is deleted. */
async function* liveFrames(
  id: string,
  agentRuns: Table<Run>,
  { timers, options, now }: World,
  gone: AbortSignal,
): AsyncIterable<string> {
  const { keepAliveMs } = options.agentRuns;
  for (let sent = 0, lastAt = now(); !gone.aborted; ) {
    const run = agentRuns.find(id);
    if (!run) return;
    const until = AbortSignal.any([gone, timers.change]);
    const time = now();
    const all = runs.eventsOf(run, options);
    const due = all.slice(sent).filter(({ at }) => at <= time);
    for (const event of due) yield sseFrame(event.data, event);
    sent += due.length;
    const next = all[sent];
    if (!next) return;
    const isSilent = due.length === 0 && time - lastAt >= keepAliveMs;
    if (isSilent) yield KEEP_ALIVE_FRAME;
    if (isSilent || due.length > 0) lastAt = time;
    await timers.wait(Math.max(1, Math.min(next.at, lastAt + keepAliveMs) - now()), until);
  }
}

function wantsStream({ accept }: Call['headers']): boolean {
  return accept?.includes('text/event-stream') ?? false;
}

/** The events after the last one that a client has received. */
function eventsAfter(events: readonly runs.RunEvent[], seen: unknown, replay: Settings['agentRuns']['replay']) {
  if (seen === undefined || replay === 'forget') return events;
  if (replay === 'refuse' || !/^\d+$/.test(String(seen))) throw new Refusal(400, 'Last-Event-ID: no such event');
  return events.slice(Number(seen));
}

const query = listQueryOf(100, 20, {});

export function agentRoutes(agentRuns: Table<Run>, world: World): Routes {
  const { options, now } = world;
  const recordOf = (run: Run) => runs.runRecord(run, now(), options);
  const end = (id: string, how: 'cancelled' | 'stopped') => endRun(id, how, agentRuns, world);
  return {
    /** Answers with the new run, or streams the events of the run until the run ends. */
    'POST /agent/runs': route({
      body: runs.runInput,
      weight: 2,
      work: ({ body, input, headers }) => {
        const betas = Object.entries(headers).find(([name]) => name.endsWith('-beta'))?.[1];
        runs.checkRunInput(body, String(betas ?? ''));
        const run = startRun(body, agentRuns, world);
        const purchase = saleOf('createAgentRun', input, 0, run.id);
        const frames: Frames = (gone) => liveFrames(run.id, agentRuns, world, gone);
        return { json: recordOf(run), frames: wantsStream(headers) ? frames : undefined, purchase };
      },
    }),
    'GET /agent/runs': route({
      query,
      weight: 0,
      work: (call) => ({ json: { object: 'list', ...agentRuns.page(call.query, recordOf) } }),
    }),
    'GET /agent/runs/:id': plain(({ id }) => recordOf(agentRuns.get(id)), 0),
    'DELETE /agent/runs/:id': plain(({ id }) => {
      end(id, 'cancelled');
      agentRuns.delete(id);
      return { id, object: 'agent_run.deleted', deleted: true };
    }),
    'POST /agent/runs/:id/cancel': plain(({ id }) => recordOf(end(id, 'cancelled'))),
    'POST /agent/runs/:id/stop': plain(({ id }) => {
      const { effort = 'auto' } = agentRuns.get(id).request;
      const isLong = effort === 'max' || effort === 'ultra';
      if (!isLong) throw new Refusal(400, 'Only runs of effort max and ultra can be stopped');
      return recordOf(end(id, 'stopped'));
    }),
    /** The stored events, as a list or as a stream that ends after the last of them. */
    'GET /agent/runs/:id/events': route({
      query,
      weight: 0,
      work: ({ params, query: { limit, cursor }, headers }) => {
        const events = runs.eventsOf(agentRuns.get(params.id), options).filter(({ at }) => at <= now());
        if (wantsStream(headers)) {
          const wanted = eventsAfter(events, headers['last-event-id'], options.agentRuns.replay);
          return { frames: () => wanted.map((event) => sseFrame(event.data, event)) };
        }
        const page = pageOf(itemsAfter(events, cursor), limit, ({ at, ...event }) => {
          return { ...event, createdAt: new Date(at).toISOString() };
        });
        return { json: { object: 'list', ...page } };
      },
    }),
  };
}
