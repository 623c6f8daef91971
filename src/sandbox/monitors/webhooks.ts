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

/** The signature of a delivery: HMAC-SHA256 over `<unix seconds>.<raw body>`. */
function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Delivers the events of monitors to webhooks on this machine; events for other hosts are dropped. */
export class Webhooks {
  readonly #world: World;
  readonly #nextId: NextId;
  readonly #deliveries: Delivery[] = [];
  #delivered = 0;
  #failed = 0;
  #waiting = 0;

  constructor(world: World) {
    this.#world = world;
    this.#nextId = world.ids('webhook');
  }

  /** Number of events delivered, given up, and still being tried, and the last attempts, oldest first. */
  view() {
    return {
      delivered: this.#delivered,
      failed: this.#failed,
      waiting: this.#waiting,
      attempts: [...this.#deliveries],
    };
  }

  /** Starts the delivery of an event. {@link view} includes its result. */
  send(monitor: Monitor, type: MonitorEvent, data: unknown, at: number): void {
    const { url, events } = monitor.webhook;
    if ((events && !events.includes(type)) || !isDelivered(url)) return;
    const id = `event_${this.#nextId()}`;
    const body = JSON.stringify({ id, object: 'event', type, data, createdAt: new Date(at).toISOString() });
    for (let time = 0; time < this.#world.options.monitors.webhookRepeat; time += 1) {
      void this.#deliver({ eventId: id, type, url }, monitor.secret, body);
    }
  }

  reset(): void {
    this.#deliveries.length = 0;
    this.#delivered = 0;
    this.#failed = 0;
  }

  async #deliver(event: Pick<Delivery, 'eventId' | 'type' | 'url'>, secret: string, body: string): Promise<void> {
    this.#waiting += 1;
    const { webhookAttempts, webhookRetryMs } = this.#world.options.monitors;
    let delivered = false;
    for (let attempt = 1; attempt <= webhookAttempts && !delivered && !this.#world.timers.stopped; attempt += 1) {
      if (attempt > 1) await this.#world.timers.wait(webhookRetryMs);
      const status = await this.#post(event.url, secret, body);
      this.#deliveries.push({ ...event, attempt, status });
      if (this.#deliveries.length > KEPT) this.#deliveries.shift();
      delivered = status >= 200 && status < 300;
    }
    this.#waiting -= 1;
    if (delivered) this.#delivered += 1;
    else this.#failed += 1;
  }

  async #post(url: string, secret: string, body: string): Promise<number> {
    const { signatureHeader, webhookTimeoutMs } = this.#world.options.monitors;
    const signal = AbortSignal.any([this.#world.timers.closed, AbortSignal.timeout(webhookTimeoutMs)]);
    const seconds = Math.floor(Date.now() / 1000);
    const headers = { 'content-type': 'application/json', [signatureHeader]: signatureOf(secret, seconds, body) };
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.status;
    } catch {
      // A refused or reset connection, or a timeout, counts as a failed attempt.
      return 0;
    }
  }
}
