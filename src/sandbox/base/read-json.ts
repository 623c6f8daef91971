import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

/** Maximum number of bytes of a request body. */
const BODY_LIMIT = 10 * 1024 * 1024;

const unreadable = (why: string, status = 400) =>
  new Refusal(status, 'INVALID_REQUEST_BODY', `Invalid request body: ${why}`);

/**
 * Reads a body as JSON; undefined if there is none. Refuses a body that is too large or malformed; rejects with the stream's
 * error if the client disconnects.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw unreadable(`more than ${BODY_LIMIT} bytes`, 413);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw unreadable('not JSON');
  }
}
