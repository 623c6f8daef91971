import { createHmac } from 'node:crypto';
import type { NextId } from '../base/sentences.js';
import type { World } from '../world.js';
import { isDelivered, type Monitor, type MonitorEvent } from './monitor.js';

/** One attempt to deliver an event. */
export interface Delivery {
  readonly eventId: string;
  readonly type: string;
  readonly url: string;
  readonly attempt: number;
  /** HTTP status of the answer; 0 for none. */
  readonly status: number;
}

/** Number of attempts that are kept in the list. */
const KEPT = 1000;

/** Delivers the events of monitors to webhooks on this machine; events for other hosts are dropped. */
export class Webhooks {
  readonly #world: World;
  readonly #nextId: NextId;
  #attempts: readonly Delivery[] = [];
  #counts = { delivered: 0, failed: 0, waiting: 0 };

  constructor(world: World) {
    this.#world = world;
    this.#nextId = world.ids('webhook');
  }

  /** Number of events delivered, given up, and still being tried, and the last attempts, oldest first. */
  view() {
    return { ...this.#counts, attempts: this.#attempts };
  }

  /** Starts the delivery of an event. {@link view} includes its result. */
  send(monitor: Monitor, type: MonitorEvent, data: unknown, at: number): void {
    const { url, events } = monitor.webhook;
    if ((events && !events.includes(type)) || !isDelivered(url)) return;
    const eventId = `event_${this.#nextId()}`;
    const body = JSON.stringify({ id: eventId, object: 'event', type, data, createdAt: new Date(at).toISOString() });
    for (let time = 0; time < this.#world.options.monitors.webhookRepeat; time += 1) {
      void this.#deliver({ eventId, type, url }, monitor.secret, body);
    }
  }

  reset(): void {
    this.#attempts = [];
    this.#counts = { ...this.#counts, delivered: 0, failed: 0 };
  }

  async #deliver(event: Pick<Delivery, 'eventId' | 'type' | 'url'>, secret: string, body: string): Promise<void> {
    this.#counts.waiting += 1;
    const { timers, options } = this.#world;
    const { webhookAttempts, webhookRetryMs } = options.monitors;
    let delivered = false;
    for (let attempt = 1; attempt <= webhookAttempts && !delivered && !timers.stopped; attempt += 1) {
      if (attempt > 1) await timers.wait(webhookRetryMs);
      const status = await this.#post(event.url, secret, body);
      this.#attempts = [...this.#attempts, { ...event, attempt, status }].slice(-KEPT);
      delivered = status >= 200 && status < 300;
    }
    this.#counts.waiting -= 1;
    this.#counts[delivered ? 'delivered' : 'failed'] += 1;
  }

  /** The signature is an HMAC-SHA256 of `<unix seconds>.<raw body>`. Returns the status, or 0 if no answer came. */
  async #post(url: string, secret: string, body: string): Promise<number> {
    const { signatureHeader, webhookTimeoutMs } = this.#world.options.monitors;
    const signal = AbortSignal.any([this.#world.timers.closed, AbortSignal.timeout(webhookTimeoutMs)]);
    const seconds = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', [signatureHeader]: `t=${seconds},v1=${signature}` };
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }
}
