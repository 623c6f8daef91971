import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Sale } from './ledger/log-file.js';

export interface Call<Body = unknown, Query = unknown> {
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  /** The variable parts of the path, decoded. */
  readonly params: Readonly<Record<'id' | 'runId' | 'itemId', string>>;
  readonly body: Body;
  /** The body as it was sent. */
  readonly input: unknown;
  readonly query: Query;
}

/** Frames of an event stream; each text is one whole frame. `gone` is aborted if the client disconnects or the sandbox closes. */
export type Frames = (gone: AbortSignal) => AsyncIterable<string> | Iterable<string>;

/** Work that is done. Its answer is JSON, or a stream if there are frames. */
export interface RouteAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly frames?: Frames | undefined;
  /** Present if the work is charged. */
  readonly purchase?: Sale;
}

/** A row of the table of routes. Its work throws a `Refusal` for a request that the service refuses. */
export interface Route<Body = unknown, Query = unknown> {
  readonly body?: z.ZodType<Body>;
  readonly query?: z.ZodType<Query>;
  /** Rate cost of the route's requests: 2 for the start of an agent run, 0 for a poll of a run; default 1. */
  readonly weight?: number;
  readonly queued?: boolean;
  work(call: Call<Body, Query>): RouteAnswer;
}

/** Routes by method and path. */
export type Routes = Readonly<Record<string, Route>>;

/** Gives the work of a route the types of its schemas. */
export function route<Body, Query>(row: Route<Body, Query>): Route {
  return row;
}

/** A route without a body and a query. It reads or changes a thing that the path names, and answers with JSON. */
export function plain(answer: (params: Call['params']) => unknown, weight = 1): Route {
  return { weight, work: ({ params }) => ({ json: answer(params) }) };
}

export type Router = ReturnType<typeof createRouter>;

/** Returns a function that finds the route of a request; null: there is none. */
export function createRouter(routes: Routes) {
  const patterns = Object.entries(routes).map(([pattern, route]) => {
    return { pattern: new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), route };
  });
  return (method: string, path: string) => {
    for (const { pattern, route } of patterns) {
      const found = pattern.exec(`${method} ${path}`);
      if (!found) continue;
      const params = Object.entries(found.groups ?? {}).map(([name, value]) => [name, decoded(value)]);
      return { route, params: Object.fromEntries(params) as Call['params'] };
    }
    return null;
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A frame of an event stream with JSON; `id` and `event` are optional. */
export function sseFrame(data: unknown, { id, event }: { readonly id?: string; readonly event?: string } = {}): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), ...(event === undefined ? [] : [`event: ${event}`])];
  return `${[...lines, `data: ${JSON.stringify(data)}`].join('\n')}\n\n`;
}

/** The frame that ends a streamed search or answer. */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** A comment, which keeps a silent connection open. A comment is not an event. */
export const KEEP_ALIVE_FRAME = ': keep-alive\n\n';
