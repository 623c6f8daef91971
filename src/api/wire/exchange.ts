import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { bodyTooLarge } from './decode-body.js';
import type { Method } from './endpoint.js';
import type { BodySpace } from './transport-options.js';

export interface WireRequest {
  readonly origin: string;
  readonly method: Method;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
  /** Maximum silence within the body, in ms; set where it differs from the timeout of the pool. */
  readonly bodyTimeout?: number;
}

export interface ExchangeLimits {
  readonly totalMs: number;
  /** Maximum size of the body as sent: `maxBytes` for a 2xx answer, `maxErrorBytes` for any other answer. */
  readonly maxBytes: number;
  readonly maxErrorBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Space for a 2xx body; absent: the body may come at any time, and gets memory of its own. */
  readonly space?: BodySpace | undefined;
}

/** Receives the body of an answer in pieces. */
export interface BodySink {
  /** `flow.pause` pauses the connection until `flow.resume`. */
  push(chunk: Buffer, flow: { pause(): void; resume(): void }): void;
}

/** Called when an answer begins: returns a sink for the body, or null to collect the body. */
export type ChooseSink = (status: number, headers: IncomingHttpHeaders) => BodySink | null;

/** The outcome of one request, complete or not. */
export interface Exchange {
  /**
   * Whether the request was assigned to a connected socket. If true, the service may have read the request. If false, the request was
   * certainly not sent.
   */
  readonly started: boolean;
  readonly status: number | null;
  readonly headers: IncomingHttpHeaders;
  /**
   * The bytes of the body, still encoded. Empty where a sink received them, and once a reader has taken them: the promise of the exchange is old
   * memory, and keeps what it holds until the next full garbage collection.
   */
  body: Buffer;
  /** Null for a complete answer. `by` is `size` where the body was above the limit. */
  readonly broken: { readonly by: 'caller' | 'total' | 'size' | 'wire'; readonly error: unknown } | null;
}

/**
 * Sends one request through the pool and reads the answer; makes one attempt. Always resolves: with the part of the answer that came, and
 * with the reason why the rest is missing. undici calls `onRequestStart` when it assigns a connected socket to the request, just before
 * undici writes. Until then the request was certainly not sent.
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
    /** Memory for the body, and the number of its bytes in use. */
    let whole: Buffer | null = null;
    let filled = 0;
    /** Counts the bytes of a body of unknown length. */
    let growing: BodySpace | null = null;

    const finish = (broken: Exchange['broken']): void => {
      if (!open) return;
      open = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      const body = whole?.subarray(0, filled) ?? Buffer.concat(chunks);
      whole = null;
      chunks.length = 0;
      resolve({ started: controller !== null, status, headers, body, broken });
    };
    const cut = (by: 'caller' | 'total' | 'size', error: unknown): void => {
      finish({ by, error });
      controller?.abort(new Error(`cut by ${by}`));
    };
    /** Starts to read the body as soon as there is room. */
    const begin = (space: BodySpace, connection: Dispatcher.DispatchController, length: number): void => {
      const read = (): void => {
        if (length > 0) {
          space.add?.(length);
          if (headers['content-encoding'] === undefined) whole = space.take(length);
        } else growing = space;
      };
      const resume = (): void => {
        if (!open) return;
        read();
        connection.resume();
      };
      if (space.enter?.(resume) === false) connection.pause();
      else read();
    };
    const onAbort = (): void => cut('caller', signal?.reason);
    const timer = setTimeout(() => cut('total', null), totalMs);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });

    pool.dispatch(request, {
      onRequestStart(dispatched) {
        // The request was ended while it waited for a connection: undici writes nothing after this abort.
        if (!open) return dispatched.abort(new Error('cut before it was sent'));
        controller = dispatched;
      },
      onResponseStart(dispatched, code, fields) {
        // Informational responses such as 103 come before the answer.
        if (code < 200) return;
        status = code;
        headers = fields;
        sink = chooseSink(code, fields);
        room = code < 300 ? limits.maxBytes : limits.maxErrorBytes;
        const length = Number(fields['content-length']);
        if (code < 300 && length > room) return cut('size', bodyTooLarge(room));
        if (code < 300 && limits.space) begin(limits.space, dispatched, length);
      },
      onResponseData(dispatched, chunk) {
        if (!open) return;
        room -= chunk.length;
        growing?.add?.(chunk.length);
        if (room < 0) return cut('size', bodyTooLarge(limits.maxBytes));
        if (sink) sink.push(chunk, dispatched);
        else if (whole) filled += chunk.copy(whole, filled);
        else chunks.push(chunk);
      },
      onResponseEnd() {
        finish(null);
      },
      onResponseError(_dispatched, error) {
        finish({ by: 'wire', error });
      },
    });
  });
}
