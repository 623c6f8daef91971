import { envelopeOf, errorBody, Refusal } from '../base/refusal.js';
import type { Reply } from './deliver.js';
import type { FaultDo } from './fault.js';
import { retryAfterText } from './retry-after.js';

/**
 * The answer to a refused request, in the envelope of its path. An error that is not a {@link Refusal} gives a 500. In both
 * cases nothing was recorded.
 */
export function refusalReply(path: string, requestId: string, error: unknown): Reply {
  const refusal = error instanceof Refusal ? error : new Refusal(500, 'INTERNAL_ERROR', String(error));
  const { body, contentType } = errorBody(envelopeOf(path), requestId, refusal);
  return toReply(refusal.status, { ...refusal.headers, 'content-type': contentType, 'x-request-id': requestId }, body);
}

/** The answer of a fault, instead of the true one. */
export function faultReply(
  path: string,
  requestId: string,
  fault: Extract<FaultDo, { kind: 'status' | 'body' }>,
): Reply {
  if (fault.kind === 'body') {
    const contentType = fault.contentType ?? 'text/html; charset=utf-8';
    return toReply(
      fault.status ?? 200,
      { 'content-type': contentType, 'x-request-id': requestId, ...fault.headers },
      fault.body,
    );
  }
  const { body, contentType } = errorBody(fault.envelope ?? envelopeOf(path), requestId, {
    status: fault.status,
    tag: fault.tag ?? null,
    message: 'A fault of the fault script',
  });
  const headers: Record<string, string> = { 'content-type': contentType, 'x-request-id': requestId, ...fault.headers };
  if (fault.retryAfter !== undefined) headers['retry-after'] = retryAfterText(fault.retryAfter);
  return toReply(fault.status, headers, body);
}

function toReply(status: number, headers: Readonly<Record<string, string>>, body: string): Reply {
  return { status, headers, body: Buffer.from(body, 'utf8') };
}
