import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { parseRetryAfter } from '../../api/wire/parse-retry-after.js';
import type { Alert } from '../../core/alerts/alert.js';
import type { Secret } from '../../core/connections/secret.js';
import { withoutMetadata } from '../../sources/one-server.js';

/** The result of one attempt. `retryAfterMs`: the wait that the receiver asks for; null: none. */
export type Sent =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly retryAfterMs: number | null };

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

/**
 * Sends an alert to a webhook once, and waits for the answer up to `timeoutMs`. An answer 2xx is a delivery; its body is not read, and a redirect
 * is not followed.
 */
export async function postAlert(
  alert: Alert,
  { url, secret }: { readonly url: Secret; readonly secret: Secret | null },
  timeoutMs: number,
  signal: AbortSignal | null = null,
): Promise<Sent> {
  const body = JSON.stringify(alert);
  const dispatcher = new Agent({ connections: 1, connect: { timeout: timeoutMs, lookup: withoutMetadata } });
  const late = AbortSignal.timeout(timeoutMs);
  const failed = (error: string, retryAfterMs: number | null = null) => ({ ok: false, error, retryAfterMs }) as const;
  try {
    const {
      body: answer,
      statusCode,
      headers,
    } = await request(url.reveal(), {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'user-agent': 'searchflow', 'searchflow-alert-id': alert.id },
        ...(secret && { 'searchflow-signature': signature(body, secret, Date.now()) }),
      },
      ...{ body, dispatcher, signal: signal ? AbortSignal.any([late, signal]) : late },
    });
    // Only the status counts, so a body of any size costs nothing.
    answer.on('error', () => undefined).destroy();
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    if (statusCode >= 300 && statusCode < 400)
      return failed(`${statusCode}: a redirect is not followed; set the final address`);
    return failed(`status ${statusCode}`, parseRetryAfter([headers['retry-after']].flat()[0], Date.now()));
  } catch (error) {
    if (signal?.aborted) return failed('interrupted');
    return failed(late.aborted ? `no answer within ${timeoutMs / 1000} s` : problemOf(error));
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
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'string') return 'the request failed';
  return problems[code] ?? `the request failed (${code.replace(/[^\w]/g, '').slice(0, 60)})`;
}
