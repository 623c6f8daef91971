import type { IncomingHttpHeaders } from 'node:http';
import type { AgentRuns } from './agents/agent-runs.js';
import type { ResearchTasks } from './agents/research-tasks.js';
import type { Purchase } from './ledger/log-file.js';
import type { Monitors } from './monitors/monitors.js';
import type { Crawler } from './pages/result.js';
import type { EventHistory } from './websets/event-history.js';
import type { World } from './world.js';

/** The objects that routes use. */
export interface RouteContext extends World {
  readonly crawler: Crawler;
  readonly agentRuns: AgentRuns;
  readonly research: ResearchTasks;
  readonly monitors: Monitors;
  readonly history: EventHistory;
}

/** The variable parts of a path, decoded. */
export type Params = Readonly<Record<'id' | 'runId' | 'itemId', string>>;

/** A request as a route gets it, without its body. */
export interface Call {
  readonly params: Params;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Frames of an event stream; each text is one whole frame. `gone` is aborted if the client disconnects or the sandbox closes.
 */
export type Frames = (gone: AbortSignal) => AsyncIterable<string> | Iterable<string>;

/** Work that is done: its answer, and its purchase if the work is charged. */
export interface Work {
  /** Status of the answer; default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, or the frames of a stream. */
  readonly body: Buffer | Frames;
  readonly purchase?: Purchase;
}

/**
 * Checks the JSON of a request and returns the work, which runs later, after the latency. Throws a {@link Refusal} for a bad
 * request.
 */
export type Route = (input: unknown, context: RouteContext, call: Call) => (requestId: string) => Work;

/** A row of the table of routes: a route, with the properties that are needed before it runs. */
export interface RouteEntry {
  readonly route: Route;
  /** Rate cost of the route's requests: 2 for the start of an agent run, 0 for a poll of a run; default 1. */
  readonly weight?: number;
  /** Whether the route's answers have the queue headers. */
  readonly queued?: boolean;
}

/** Routes by method and path. */
export type Routes = Readonly<Record<string, RouteEntry>>;

/** Work whose answer is JSON. */
export function jsonWork(value: unknown, more: Omit<Work, 'body'> = {}): Work {
  return { ...more, body: Buffer.from(JSON.stringify(value)) };
}

/** A route without a body and a query. It reads or changes a thing that the path names, and answers with JSON. */
export function plainRoute(answer: (context: RouteContext, params: Params) => unknown): Route {
  return (_input, context, { params }) =>
    () =>
      jsonWork(answer(context, params));
}
