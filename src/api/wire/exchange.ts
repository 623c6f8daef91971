import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { BodyMemory } from './body-memory.js';
import { tooLarge } from './decode-body.js';
import type { Method } from './endpoint.js';

/** One request, ready for the wire. */
export interface WireRequest {
  readonly method: Method;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
  /** Silence within the body, in milliseconds, where it is not the pool's. */
  readonly bodyTimeout?: number;
}

export interface ExchangeLimits {
  readonly totalMs: number;
  /** Bytes of a 2xx body as it comes, and of any other. */
  readonly maxBytes: number;
  readonly maxErrorBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Where a 2xx body may be put whose size is told ahead. */
  readonly memory?: BodyMemory | undefined;
}

/** Takes the body of an answer piece by piece instead of gathering it. */
export interface BodySink {
  /** `flow.pause` holds the connection back until `flow.resume`. */
  push(chunk: Buffer, flow: { pause(): void; resume(): void }): void;
}

/** Asked when an answer begins: a sink for its body, or null to gather it. */
export type ChooseSink = (status: number, headers: IncomingHttpHeaders) => BodySink | null;

/** What one request brought, whole or not. */
export interface Exchange {
  /** It was given to a connected socket: from here on the service may have read it. False is certain. */
  readonly started: boolean;
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  /** What came of the body, still encoded. Empty where a sink took it. */
  readonly body: Buffer;
  /** Null where the answer came whole. `size`: we stopped reading it. */
  readonly broken: { readonly by: 'caller' | 'total' | 'size' | 'wire'; readonly error: unknown } | null;
}

/**
 * Sends one request through the pool and reads the answer, once. Always resolves: with what came, and why no more of it.
 * undici tells the moment it takes a connected socket for the request (`onRequestStart`), just before it writes; that is
 * what makes "never sent" certain.
 */
export function exchange(
  pool: Dispatcher,
  request: WireRequest,
  limits: ExchangeLimits,
  chooseSink: ChooseSink = () => null,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const { signal, totalMs } = limits;
    let controller: Dispatcher.DispatchController | null = null;
    let status: number | null = null;
    let headers: IncomingHttpHeaders = {};
    let sink: BodySink | null = null;
    let room = 0;
    let open = true;
    const chunks: Buffer[] = [];
    /** Where the body is put as it comes, and how much of it is there. */
    let whole: Buffer | null = null;
    let filled = 0;

    const finish = (broken: Exchange['broken']): void => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve({
        started: controller !== null,
        status,
        headers,
        body: whole?.subarray(0, filled) ?? Buffer.concat(chunks),
        broken,
      });
    };
    const cut = (by: 'caller' | 'total' | 'size', error: unknown): void => {
      finish({ by, error });
      controller?.abort(new Error(`cut by ${by}`));
    };
    const onAbort = (): void => cut('caller', signal?.reason);
    const timer = setTimeout(() => cut('total', null), totalMs);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });

    pool.dispatch(request, {
      onRequestStart(given) {
        // Cut while it waited for a connection: undici writes nothing once this has aborted.
        if (!open) return given.abort(new Error('cut before it was sent'));
        controller = given;
      },
      onResponseStart(_given, code, fields) {
        // Hints such as 103 come before the answer.
        if (code < 200) return;
        status = code;
        headers = fields;
        sink = chooseSink(code, fields);
        room = code < 300 ? limits.maxBytes : limits.maxErrorBytes;
        const length = Number(fields['content-length']);
        if (code < 300 && length > room) return cut('size', tooLarge(room));
        if (code < 300 && length > 0) whole = limits.memory?.take(length) ?? null;
      },
      onResponseData(given, chunk) {
        if (!open) return;
        room -= chunk.length;
        if (room < 0) return cut('size', tooLarge(limits.maxBytes));
        if (sink) sink.push(chunk, given);
        else if (whole) filled += chunk.copy(whole, filled);
        else chunks.push(chunk);
      },
      onResponseEnd() {
        finish(null);
      },
      onResponseError(_given, error) {
        finish({ by: 'wire', error });
      },
    });
  });
}
