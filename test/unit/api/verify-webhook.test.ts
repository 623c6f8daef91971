import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookRefused } from '../../../src/api/verify-webhook.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { runs } from '../../support/property-runs.js';

const NOW = 1_800_000_000_000;
const secret = 'whsec_canary';
const body = JSON.stringify({ id: 'event_1', object: 'event', type: 'monitor.run.completed', data: { id: 'run – ü' } });
const sign = (text: string, key = secret, t: number | string = NOW / 1000) =>
  createHmac('sha256', key).update(`${t}.${text}`).digest('hex');
const stripe = new Stripe('sk_test_none');

/** The verdict of another library for the same signature scheme. */
function oracle(text: string, header: string, tolerance: number): boolean {
  try {
    return stripe.webhooks.signature?.verifyHeader(text, header, secret, tolerance, undefined, NOW) === true;
  } catch {
    return false;
  }
}

function ours(text: string, header: string, toleranceSeconds: number): boolean {
  try {
    verifyWebhook(text, header, secret, { toleranceSeconds, now: NOW });
    return true;
  } catch (error) {
    if (error instanceof WebhookRefused) return false;
    throw error;
  }
}

const problemOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as WebhookRefused).problem;
  }
  return null;
};

it.each([{ toleranceSeconds: Number.NaN }, { toleranceSeconds: 'abc' as unknown as number }, { now: Number.NaN }])(
  'verifyWebhook refuses a maximum age of %j, which would accept any webhook',
  (options) => {
    const header = `t=${NOW / 1000 - 100_000},v1=${sign(body, secret, NOW / 1000 - 100_000)}`;
    expect(() => verifyWebhook(body, header, secret, { now: NOW, ...options })).toThrow(TypeError);
  },
);

describe('a webhook', () => {
  it('with a correct signature returns its event, from text, bytes, a Secret, and one of several signatures', () => {
    const t = NOW / 1000;
    const header = `t=${t}, v1=${'0'.repeat(64)}, v0=abc, v1=${sign(body)}`;
    for (const raw of [body, Buffer.from(body), new TextEncoder().encode(body)]) {
      expect(verifyWebhook(raw, header, new Secret(secret), { now: NOW }).type).toBe('monitor.run.completed');
    }
    expect(verifyWebhook(body, [`t=${t}`, `v1=${sign(body)}`], secret, { now: NOW }).id).toBe('event_1');
  });

  it('is refused with a reason that contains neither body, secret nor signature', () => {
    const t = NOW / 1000;
    const good = `t=${t},v1=${sign(body)}`;
    expect(problemOf(() => verifyWebhook(body, undefined, secret, { now: NOW }))).toBe('no-signature');
    expect(problemOf(() => verifyWebhook(body, 't=1', secret, { now: NOW }))).toBe('no-signature');
    expect(problemOf(() => verifyWebhook(`${body} `, good, secret, { now: NOW }))).toBe('wrong-signature');
    expect(problemOf(() => verifyWebhook(body, good, 'other', { now: NOW }))).toBe('wrong-signature');
    expect(problemOf(() => verifyWebhook(body, good, secret, { now: NOW + 301_000 }))).toBe('too-old');
    expect(problemOf(() => verifyWebhook('[]', `t=${t},v1=${sign('[]')}`, secret, { now: NOW }))).toBe('no-event');
    expect(problemOf(() => verifyWebhook('{', `t=${t},v1=${sign('{')}`, secret, { now: NOW }))).toBe('no-event');
    expect(() => verifyWebhook(body, good, 'canary-other', { now: NOW })).toThrowError(/^(?!.*canary)(?!.*event_1)/);
    expect(() => verifyWebhook(body, good, '')).toThrow(TypeError);
  });

  it('is accepted exactly if the verifier of the scheme’s inventor accepts it', () => {
    const time = fc.oneof(fc.constant(NOW / 1000), fc.integer({ min: NOW / 1000 - 700, max: NOW / 1000 + 700 }));
    const signature = fc.constantFrom('right', 'wrong', 'other-key', 'short', 'upper-name', 'none');
    fc.assert(
      fc.property(
        time,
        fc.array(signature, { maxLength: 4 }),
        fc.constantFrom(60, 300),
        fc.boolean(),
        (t, kinds, tolerance, changed) => {
          const signatures = kinds.flatMap((kind) => {
            if (kind === 'none') return [];
            if (kind === 'upper-name') return [`V1=${sign(body, secret, t)}`];
            if (kind === 'short') return ['v1=abcdef'];
            return [`v1=${kind === 'wrong' ? '0'.repeat(64) : sign(body, kind === 'right' ? secret : 'other', t)}`];
          });
          const header = [`t=${t}`, ...signatures].join(',');
          const text = changed ? body.replace('event_1', 'event_2') : body;
          expect(ours(text, header, tolerance)).toBe(oracle(text, header, tolerance));
        },
      ),
      { numRuns: runs(500) },
    );
  });
});
