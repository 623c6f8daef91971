import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../core/text/secret.js';

/** Webhooks older than this are taken for replays, in seconds. */
export const DEFAULT_TOLERANCE_SECONDS = 300;
/** More signatures than this in one header are nobody's honest rotation of secrets. */
const MAX_SIGNATURES = 32;

const envelope = z.looseObject({
  id: z.string(),
  type: z.string(),
  data: z.unknown().optional(),
  createdAt: z.union([z.string(), z.number()]).nullish(),
});

/** What a webhook delivers (public facts 7.3). The same `id` may come more than once: deliveries are repeated. */
export type WebhookEvent = z.infer<typeof envelope>;

/** Why a webhook is not to be believed; answer it with 400 or 401, and do nothing else. */
export type WebhookProblem = 'no-signature' | 'wrong-signature' | 'too-old' | 'no-event';

/** A delivery that must not be acted on. The message never holds the body, the secret or a signature. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
  constructor(
    readonly problem: WebhookProblem,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Checks the signature of a webhook (public facts 7.3: `Exa-Signature: t=<unix seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 of
 * `t.body`) in constant time, then its age, and gives the event. Any one matching `v1` will do, so secrets can be changed.
 *
 * `rawBody` is the body exactly as it came: parsed and written again it has another signature. Throws {@link WebhookRefused}.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string | Secret,
  options: {
    /** Default 300; what is no number is refused, because nothing would be too old for it. */
    readonly toleranceSeconds?: number;
    /** Unix ms; default: now. */
    readonly now?: number;
  } = {},
): WebhookEvent {
  const key = secret instanceof Secret ? secret.reveal() : secret;
  if (key === '') throw new TypeError('verifyWebhook needs the webhookSecret that createMonitor told');
  const { toleranceSeconds: tolerance = DEFAULT_TOLERANCE_SECONDS } = options;
  const { now = Date.now() } = options;
  for (const [name, value] of Object.entries({ toleranceSeconds: tolerance, now })) {
    if (typeof value !== 'number' || Number.isNaN(value))
      throw new TypeError(`verifyWebhook: ${name} is ${String(value)}, which is no number`);
  }
  const { time, signatures } = readHeader(typeof header === 'string' ? header : (header ?? []).join(','));
  const body = typeof rawBody === 'string' ? Buffer.from(rawBody, 'utf8') : rawBody;
  const expected = createHmac('sha256', key).update(`${time}.`).update(body).digest();
  // Each one is compared: how long it takes must not say which matched.
  const matching = signatures.filter((signature) => timingSafeEqual(signature, expected));
  if (matching.length === 0) {
    throw new WebhookRefused(
      'wrong-signature',
      'no signature of the webhook matches: another secret, or the body is not exactly as it came',
    );
  }
  const age = Math.floor(now / 1000) - Number(time);
  if (age > tolerance)
    throw new WebhookRefused('too-old', `the webhook is ${age} s old, at most ${tolerance} are allowed`);
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
    throw new WebhookRefused('no-event', 'the webhook is signed rightly, but its body is no JSON');
  }
  const event = envelope.safeParse(value);
  if (!event.success)
    throw new WebhookRefused('no-event', 'the webhook is signed rightly, but is no event with id and type');
  return event.data;
}
