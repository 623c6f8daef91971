import { randomUUID } from 'node:crypto';
import type { Alert } from '../../core/alerts/alert.js';
import type { AlertOutbox, Attempted, DueAlert, Receiver } from '../../core/alerts/outbox.js';
import { deferred } from '../../core/processes/deferred.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { ALERT_FOR_MS } from './alert-book.js';
import { type AlertSettings, receiversOf } from './alert-setting.js';
import { postAlert, type Sent } from './post-alert.js';
import { runCommand } from './run-command.js';

/** Times in ms. A test shortens them. */
export interface AlertTimes {
  /** Longest time of an attempt. A program may need more than a request. */
  readonly webhookMs: number;
  readonly commandMs: number;
  /** Time between two looks for alerts of other processes, and for those whose next attempt is due. */
  readonly pollMs: number;
  /** The first wait after a failed attempt; it doubles up to `mostWaitMs`. */
  readonly firstWaitMs: number;
  readonly mostWaitMs: number;
  /** Time after the event at which the last attempt is made. */
  readonly forMs: number;
}

export const alertTimes: AlertTimes = {
  webhookMs: 10_000,
  commandMs: 30_000,
  pollMs: 5000,
  firstWaitMs: 5000,
  mostWaitMs: 1_800_000,
  forMs: ALERT_FOR_MS,
};

/** A claim lasts longer than an attempt, so that a slow attempt is not repeated by another process. */
const HOLD_MORE_MS = 15_000;

/** Sends an alert to a receiver once. */
export function sendOnce(
  alert: Alert,
  receiver: Receiver,
  { url, secret, command }: AlertSettings,
  { webhookMs, commandMs }: AlertTimes = alertTimes,
  signal?: AbortSignal,
): Promise<Sent> {
  const stop = signal ? { signal } : {};
  if (receiver === 'webhook' && url) return postAlert(alert, { url, secret, timeoutMs: webhookMs, ...stop });
  if (receiver === 'command' && command) return runCommand(alert, { command, timeoutMs: commandMs, ...stop });
  return Promise.resolve({ ok: false, error: `there is no ${receiver}`, retryAfterMs: null });
}

/** Delivers the alerts of an outbox, one after the other for each receiver. Several processes may deliver the alerts of one outbox. */
export class AlertSender {
  readonly #outbox: AlertOutbox;
  readonly #settings: AlertSettings;
  readonly #say: (sentence: string) => void;
  readonly #times: AlertTimes;
  readonly #cut = new AbortController();
  /** Receivers whose failure was reported and that have accepted no alert since. */
  readonly #failing = new Set<Receiver>();
  #isClosing = false;
  #woken = deferred<void>();
  #loops: Promise<void> | null = null;

  constructor(outbox: AlertOutbox, settings: AlertSettings, say: (sentence: string) => void, times = alertTimes) {
    this.#outbox = outbox;
    this.#settings = settings;
    this.#say = say;
    this.#times = times;
  }

  /** Delivers alerts until the sender is closed. */
  start(): void {
    this.#loops ??= Promise.all(receiversOf(this.#settings).map((receiver) => this.#loop(receiver))).then(
      () => undefined,
    );
  }

  /** Looks for alerts at once, because one was added. */
  wake(): void {
    const woken = this.#woken;
    this.#woken = deferred<void>();
    woken.resolve();
  }

  /** Delivers what is due, within `ms`. Then ends; the rest is left to the next worker. */
  async close(ms: number): Promise<void> {
    this.#isClosing = true;
    this.wake();
    const timer = setTimeout(() => this.#cut.abort(), ms);
    await this.#loops;
    clearTimeout(timer);
  }

  /** Delivers each alert that is due, once. Returns the number of deliveries and of failed attempts. */
  async sendDue(): Promise<{ readonly delivered: number; readonly failed: number }> {
    let [delivered, failed] = [0, 0];
    for (const receiver of receiversOf(this.#settings)) {
      const owner = randomUUID();
      for (
        let result = await this.#next(receiver, owner);
        result !== null;
        result = await this.#next(receiver, owner)
      ) {
        if (result) delivered++;
        else failed++;
      }
    }
    return { delivered, failed };
  }

  async #loop(receiver: Receiver): Promise<void> {
    const owner = randomUUID();
    while (!this.#cut.signal.aborted) {
      const woken = this.#woken.promise;
      // An unreachable store is reported by the work that needs it.
      const sent = await this.#next(receiver, owner).catch(() => null);
      if (sent !== null) continue;
      if (this.#isClosing) return;
      await this.#rest(woken);
    }
  }

  /** Attempts the oldest delivery that is due. Null if none is due. */
  async #next(receiver: Receiver, owner: string): Promise<boolean | null> {
    const { webhookMs, commandMs } = this.#times;
    const holdMs = (receiver === 'webhook' ? webhookMs : commandMs) + HOLD_MORE_MS;
    const due = await this.#outbox.claim(receiver, owner, holdMs);
    if (due === null) return null;
    const sent = await sendOnce(due.alert, receiver, this.#settings, this.#times, this.#cut.signal);
    // An attempt that the end of this process interrupted does not count.
    if (!sent.ok && this.#cut.signal.aborted) await this.#outbox.release(due, owner);
    else await this.#outbox.record(due, owner, this.#attempted(due, sent));
    return sent.ok;
  }

  #attempted({ alert, receiver, attempts, leftMs }: DueAlert, sent: Sent): Attempted {
    if (sent.ok) {
      this.#failing.delete(receiver);
      return sent;
    }
    const { firstWaitMs, mostWaitMs } = this.#times;
    const waitMs = Math.max(sent.retryAfterMs ?? 0, backoffMs(attempts, firstWaitMs, mostWaitMs, Math.random()));
    const isLast = leftMs <= 0;
    if (isLast || !this.#failing.has(receiver))
      this.#say(
        isLast
          ? `The alert ${alert.type} was not delivered to the ${receiver} (${sent.error}), and is not tried again. To send it: searchflow alerts retry`
          : `The ${receiver} for alerts does not accept them (${sent.error}). They are kept and tried again for ${Math.round(this.#times.forMs / 3_600_000)} hours.`,
      );
    this.#failing.add(receiver);
    // The last attempt is made at the end of the time, even if the receiver has asked for a longer wait.
    return { ok: false, error: sent.error, retryMs: isLast ? null : Math.min(waitMs, leftMs) };
  }

  #rest(woken: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#times.pollMs);
      timer.unref();
      woken.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
