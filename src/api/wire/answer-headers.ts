import type { IncomingHttpHeaders } from 'node:http';
import { oneLine, type Redact } from '../checks/redact.js';
import { parseHttpDate } from './parse-retry-after.js';

/** The contract names the queue headers `x-svc-…`, the public service `x-exa-…`. */
const prefixes = ['x-svc-', 'x-exa-'] as const;

/** Facts from the headers of an answer. */
export interface AnswerHeaders {
  readonly requestId: string | null;
  /** Whether the call waited in the service's own queue, as calls do when the team is close to its limit. */
  readonly queued: boolean | null;
  readonly queueMs: number | null;
  /** The service's clock, Unix ms, in whole seconds. */
  readonly date: number | null;
  /** The `Deprecation` header, unparsed. */
  readonly deprecation: string | null;
}

/** The first value of a header, or `null`. */
export function header(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

function prefixed(headers: IncomingHttpHeaders, name: string): string | null {
  for (const prefix of prefixes) {
    const value = header(headers, prefix + name);
    if (value !== null) return value.trim().toLowerCase();
  }
  return null;
}

export function readAnswerHeaders(headers: IncomingHttpHeaders, now: number, redact: Redact): AnswerHeaders {
  const id = header(headers, 'x-request-id');
  const date = header(headers, 'date');
  const deprecation = header(headers, 'deprecation');
  const queued = prefixed(headers, 'queued');
  const queueMs = prefixed(headers, 'queue-ms');
  return {
    requestId: id === null ? null : oneLine(redact(id), 200) || null,
    queued: queued === 'true' ? true : queued === 'false' ? false : null,
    queueMs: queueMs !== null && /^\d+(\.\d+)?$/.test(queueMs) ? Number(queueMs) : null,
    date: date === null ? null : parseHttpDate(date, now),
    deprecation: deprecation === null ? null : oneLine(redact(deprecation), 200),
  };
}
