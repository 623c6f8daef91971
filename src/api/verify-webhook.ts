import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../core/connections/secret.js';
import type { ErrorCode } from '../core/errors/registry.js';

/** The age above which webhooks count as replays, in seconds. */
export const DEFAULT_TOLERANCE_SECONDS = 300;
/** Maximum number of signatures in one header; a rotation of secrets needs fewer. */
const MAX_SIGNATURES = 32;

const envelope = z.looseObject({
  id: z.string(),
  type: z.string(),
  data: z.unknown().optional(),
  createdAt: z.union([z.string(), z.number()]).nullish(),
});

/** The content of a webhook (API reference: /monitors). The same `id` may come more than once: deliveries are repeated. */
export type WebhookEvent = z.infer<typeof envelope>;

/** Why a webhook is refused. Answer a refused webhook with 400 or 401 and do nothing else. */
export type WebhookProblem = 'no-signature' | 'wrong-signature' | 'too-old' | 'no-event';

const codes = {
  'no-signature': 'webhook-signature-wrong',
  'wrong-signature': 'webhook-signature-wrong',
  'too-old': 'webhook-too-old',
  'no-event': 'webhook-malformed',
} as const satisfies Readonly<Record<WebhookProblem, ErrorCode>>;

/** A delivery that must not be processed. The message never holds the body, the secret or a signature. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
  readonly errorCode: ErrorCode;
  constructor(
    readonly problem: WebhookProblem,
    message: string,
  ) {
    super(message);
    this.errorCode = codes[problem];
  }
}

/**
 * Checks the signature of a webhook (`Exa-Signature: t=<unix seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 of `t.body`) in
 * constant time, then its age, and returns the event. One matching `v1` is enough, so secrets can be rotated.
 *
 * `rawBody` must be the unparsed body: a body that was parsed and serialized again has another signature. Throws
 * {@link WebhookRefused}.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string | Secret,
  options: {
    /** Default 300. NaN is refused, because NaN would disable the check. */
    readonly toleranceSeconds?: number;
    /** Unix ms; default: now. */
    readonly now?: number;
  } = {},
): WebhookEvent {
  const key = secret instanceof Secret ? secret.reveal() : secret;
  if (key === '') throw new TypeError('verifyWebhook needs the webhookSecret that createMonitor returned');
  const { toleranceSeconds: tolerance = DEFAULT_TOLERANCE_SECONDS } = options;
  const { now = Date.now() } = options;
  for (const [name, value] of Object.entries({ toleranceSeconds: tolerance, now })) {
    if (typeof value !== 'number' || Number.isNaN(value))
      throw new TypeError(`verifyWebhook: ${name} must be a number (got ${String(value)})`);
  }
  const { time, signatures } = readHeader(typeof header === 'string' ? header : (header ?? []).join(','));
  const body = typeof rawBody === 'string' ? Buffer.from(rawBody, 'utf8') : rawBody;
  const expected = createHmac('sha256', key).update(`${time}.`).update(body).digest();
  // All signatures are compared, so that the duration does not show which signature matched.
  const matching = signatures.filter((signature) => timingSafeEqual(signature, expected));
  if (matching.length === 0) {
    throw new WebhookRefused(
      'wrong-signature',
      'no signature of the webhook matches: the secret is another one, or the body was changed',
    );
  }
  const age = Math.floor(now / 1000) - Number(time);
  if (age > tolerance)
    throw new WebhookRefused('too-old', `the webhook is ${age} s old, at most ${tolerance} s are allowed`);
  return readEvent(body);
}

function readHeader(header: string): { time: string; signatures: Buffer[] } {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?]);
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  const signatures = parts
    .filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/i.test(value ?? ''))
    .slice(0, MAX_SIGNATURES)
    .map(([, value]) => Buffer.from(value as string, 'hex'));
  if (!/^\d{1,12}$/.test(time) || signatures.length === 0) {
    throw new WebhookRefused(
      'no-signature',
      'the webhook has no signature of the form t=<unix seconds>,v1=<64 hex digits>',
    );
  }
  return { time, signatures };
}

function readEvent(body: Uint8Array): WebhookEvent {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new WebhookRefused('no-event', 'the signature of the webhook is valid, but its body is not JSON');
  }
  const event = envelope.safeParse(value);
  if (!event.success)
    throw new WebhookRefused(
      'no-event',
      'the signature of the webhook is valid, but it is not an event with id and type',
    );
  return event.data;
}
