import type { IncomingHttpHeaders } from 'node:http';
import { envelopeOf, Refusal } from '../base/refusal.js';

/** The key of a request: `x-api-key`, or `Authorization` with the Bearer scheme. */
export function keyOf(headers: IncomingHttpHeaders): string | null {
  const direct = headers['x-api-key'];
  if (typeof direct === 'string' && direct !== '') return direct;
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The x402 challenge for a request without a key. */
function challenge(path: string, baseUrl: string): Refusal {
  const terms = {
    x402Version: 2,
    resource: { url: `${baseUrl}${path}`, description: `One call of POST ${path}`, mimeType: 'application/json' },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        amount: '7000',
        asset: '0x0000000000000000000000000000000000000000',
        payTo: '0x0000000000000000000000000000000000000001',
        maxTimeoutSeconds: 60,
        extra: {},
      },
    ],
  };
  const header = Buffer.from(JSON.stringify(terms)).toString('base64');
  return new Refusal(402, 'X402_PAYMENT_REQUIRED', 'Payment is required: send an API key, or pay for this request', {
    extra: terms,
    headers: { 'payment-required': header },
  });
}

/** Checks the key. Throws the {@link Refusal} for a request without a valid key. */
export function checkAccess(
  headers: IncomingHttpHeaders,
  path: string,
  options: {
    readonly keys: readonly string[] | null;
    readonly serviceKey: string | null;
    readonly x402: boolean;
    readonly baseUrl: string;
  },
): void {
  const key = keyOf(headers);
  if (key === null && options.x402 && (path === '/search' || path === '/contents'))
    throw challenge(path, options.baseUrl);
  if (path.startsWith('/team-management/')) {
    if (key !== null && (options.serviceKey === null || key === options.serviceKey)) return;
    throw new Refusal(401, 'INVALID_API_KEY', 'The service key is not valid');
  }
  if (key !== null && (options.keys === null || options.keys.includes(key))) return;
  const tag = envelopeOf(path) === 'agent' ? 'TEAM_NOT_FOUND' : 'INVALID_API_KEY';
  throw new Refusal(401, tag, key === null ? 'The request has no API key' : 'The API key is not valid');
}
