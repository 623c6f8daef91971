import type { ServerResponse } from 'node:http';
import type { Timers } from '../base/timers.js';
import type { FaultDo } from './fault.js';

/** An answer, ready to be sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Sends a reply, with its fault if there is one. Resolves after all bytes are written, with the status that was sent, or 0 if
 * none was sent.
 */
export async function deliver(
  response: ServerResponse,
  reply: Reply,
  fault: FaultDo | null,
  timers: Timers,
): Promise<number> {
  const { body } = reply;
  if (fault?.kind === 'reset') return cut(response);
  if (fault?.kind === 'stall' && fault.moment === 'headers') await timers.wait(fault.ms);
  if (timers.stopped || response.destroyed || response.socket?.destroyed) return cut(response);
  const chunked = fault?.kind === 'truncate' && fault.framing === 'chunked';
  response.writeHead(
    reply.status,
    chunked ? reply.headers : { ...reply.headers, 'content-length': String(body.length) },
  );
  if (fault?.kind === 'truncate') {
    const whole = fault.bytes ?? Math.floor(body.length * (fault.fraction ?? 0.5));
    await write(response, body.subarray(0, whole));
    // The connection is closed normally, not reset: after a reset the client could lose bytes that were sent before.
    response.socket?.destroySoon();
    return reply.status;
  }
  if (fault?.kind === 'stall' && fault.moment === 'body') {
    const half = body.length >> 1;
    await write(response, body.subarray(0, half));
    await timers.wait(fault.ms);
    response.end(body.subarray(half));
    return reply.status;
  }
  if (fault?.kind === 'drip') {
    await drip(response, body, fault, timers);
    response.end();
    return reply.status;
  }
  response.end(body);
  return reply.status;
}

/** Resets the connection of an answer. */
export function cut(response: ServerResponse): number {
  response.socket?.resetAndDestroy();
  return 0;
}

/** Sends a body slowly, `bytes` bytes at a time. The response stays open. */
export async function drip(
  response: ServerResponse,
  body: Buffer,
  { bytes = 1, everyMs = 1000 }: { readonly bytes?: number; readonly everyMs?: number },
  timers: Timers,
): Promise<void> {
  for (let from = 0; from < body.length && !timers.stopped && !response.destroyed; from += bytes) {
    if (from > 0) await timers.wait(everyMs);
    await write(response, body.subarray(from, from + bytes));
  }
}

/** Writes and waits until the bytes have left this process, or the connection is closed. */
export async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length === 0) {
    response.flushHeaders();
    return;
  }
  await new Promise<void>((resolve) => {
    response.write(bytes, () => resolve());
  });
}
