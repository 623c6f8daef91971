import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { parseRetryAfter } from '../../api/wire/parse-retry-after.js';
import type { Alert } from '../../core/alerts/alert.js';
import type { Secret } from '../../core/connections/secret.js';
import { withoutMetadata } from '../../sources/one-server.js';

/** Headers of a webhook: its signature, and the id of its alert. */
const SIGNATURE_HEADER = 'searchflow-signature';
const ID_HEADER = 'searchflow-alert-id';

/** The result of one attempt. `retryAfterMs`: the wait that the receiver asks for; null: none. */
export type Sent =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly retryAfterMs: number | null };

export interface PostOptions {
  readonly url: Secret;
  readonly secret: Secret | null;
  /** Longest time for the answer, in ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What went wrong, by the code of an error. The message of an error may have the address. */
const problems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'the host is not in DNS',
  EAI_AGAIN: 'DNS does not answer',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed (add it with NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted (add its authority with NODE_EXTRA_CA_CERTS)',
  UND_ERR_SOCKET: 'the connection ended before the answer',
};

/** Sends an alert once. An answer 2xx is a delivery; its body is not read, and a redirect is not followed. */
export async function postAlert(alert: Alert, { url, secret, timeoutMs, signal }: PostOptions): Promise<Sent> {
  const body = JSON.stringify(alert);
  const dispatcher = new Agent({ connections: 1, connect: { timeout: timeoutMs, lookup: withoutMetadata } });
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await request(url.reveal(), {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'user-agent': 'searchflow', [ID_HEADER]: alert.id },
        ...(secret === null ? {} : { [SIGNATURE_HEADER]: signature(body, secret, Date.now()) }),
      },
      body,
      dispatcher,
      signal: signal ? AbortSignal.any([late, signal]) : late,
    });
    // Only the status counts, so a body of any size costs nothing.
    answer.body.on('error', () => undefined).destroy();
    const { statusCode, headers } = answer;
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    const [after] = [headers['retry-after']].flat();
    const isRedirect = statusCode >= 300 && statusCode < 400;
    const error = isRedirect
      ? `${statusCode}: a redirect is not followed; set the final address`
      : `status ${statusCode}`;
    return { ok: false, error, retryAfterMs: parseRetryAfter(after, Date.now()) };
  } catch (error) {
    return {
      ok: false,
      error: late.aborted ? `no answer within ${timeoutMs / 1000} s` : problemOf(error),
      retryAfterMs: null,
    };
  } finally {
    await dispatcher.destroy().catch(() => undefined);
  }
}

/** The signature `t=<unix seconds>,v1=<hex>`, which `verifyWebhook` checks. `now`: Unix ms. */
export function signature(body: string, secret: Secret, now: number): string {
  const time = Math.floor(now / 1000);
  const hex = createHmac('sha256', secret.reveal()).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${hex}`;
}

function problemOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  if (name === 'AbortError') return 'interrupted';
  if (typeof code !== 'string') return 'the request failed';
  return problems[code] ?? `the request failed (${code.replace(/[^\w]/g, '').slice(0, 60)})`;
}
