import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Alert } from '../../core/alerts/alert.js';
import type { AlertOutbox, Attempted, Delivery, DueAlert, KeptAlert, Receiver } from '../../core/alerts/outbox.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import { recordFormat } from '../process/folder-format.js';

/** Longest wait for another change; a change takes milliseconds. */
const CHANGE_MS = 30_000;

/** A delivery in its file. `claimedBy`: the process that attempts the delivery until `claimedUntil`. */
interface FileDelivery extends Delivery {
  readonly claimedBy?: string | null;
  readonly claimedUntil?: number | null;
}
interface FileAlert {
  readonly alert: Alert;
  readonly deliveries: readonly FileDelivery[];
}

/**
 * The outbox of a state folder, a file for each alert: in `waiting` until all its deliveries have ended, then in `ended`. A process that only
 * looks for due alerts so reads few files.
 */
export class FileOutbox implements AlertOutbox {
  readonly #dir: string;
  readonly #now: () => number;

  /** `dir`: the folder of the alerts, in the state folder. `now`: Unix ms. */
  constructor(dir: string, now: () => number = Date.now) {
    this.#dir = dir;
    this.#now = now;
  }

  add(alert: Alert, to: readonly Receiver[], forMs: number): Promise<boolean> {
    return this.#changing(async () => {
      if (existsSync(this.#path('waiting', alert.id)) || existsSync(this.#path('ended', alert.id))) return false;
      const now = this.#now();
      const deliveries = to.map((receiver) => waiting(receiver, now, forMs));
      await recordFormat(dirname(this.#dir));
      await this.#write('waiting', { alert, deliveries });
      return true;
    });
  }

  async claim(receiver: Receiver, owner: string, holdMs: number): Promise<DueAlert | null> {
    // Without a file there is nothing to lock.
    if (namesIn(this.#folder('waiting')).length === 0) return null;
    return this.#changing(async () => {
      const now = this.#now();
      const due = this.#read('waiting').find(({ deliveries }) =>
        deliveries.some((one) => one.receiver === receiver && isDue(one, now)),
      );
      if (!due) return null;
      const { alert } = due;
      const delivery = due.deliveries.find((one) => one.receiver === receiver) as FileDelivery;
      await this.#write('waiting', withDelivery(due, { ...delivery, claimedBy: owner, claimedUntil: now + holdMs }));
      return { alert, receiver, attempts: delivery.attempts, leftMs: delivery.until - now };
    });
  }

  record(
    { alert, receiver }: Pick<DueAlert, 'receiver' | 'alert'>,
    owner: string,
    attempted: Attempted,
  ): Promise<void> {
    return this.#change(alert.id, receiver, (delivery, now) => {
      if (delivery.state === 'delivered' || (!attempted.ok && delivery.claimedBy !== owner)) return delivery;
      return { ...free(delivery), ...after(attempted, now), attempts: delivery.attempts + 1 };
    });
  }

  release({ alert, receiver }: Pick<DueAlert, 'receiver' | 'alert'>, owner: string): Promise<void> {
    return this.#change(alert.id, receiver, (delivery) => (delivery.claimedBy === owner ? free(delivery) : delivery));
  }

  async list(most: number): Promise<readonly KeptAlert[]> {
    const all = [...this.#read('waiting'), ...this.#read('ended')];
    all.sort((a, b) => b.alert.createdAt.localeCompare(a.alert.createdAt));
    return all.slice(0, most).map(({ alert, deliveries }) => ({ alert, deliveries: deliveries.map(shown) }));
  }

  retry(to: readonly Receiver[], forMs: number): Promise<number> {
    return this.#changing(async () => {
      const now = this.#now();
      let changed = 0;
      for (const kept of [...this.#read('waiting'), ...this.#read('ended')]) {
        const isSent = ({ receiver, state }: Delivery) => to.includes(receiver) && state !== 'delivered';
        if (!kept.deliveries.some(isSent)) continue;
        changed += kept.deliveries.filter(isSent).length;
        const again = { state: 'waiting' as const, nextAt: now, until: now + forMs, endedAt: null };
        await this.#put({
          ...kept,
          deliveries: kept.deliveries.map((one) => (isSent(one) ? { ...one, ...again } : one)),
        });
      }
      return changed;
    });
  }

  async prune(ageMs: number): Promise<void> {
    const before = this.#now() - ageMs;
    for (const name of namesIn(this.#folder('ended'))) {
      const path = join(this.#folder('ended'), name);
      if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) rmSync(path, { force: true });
    }
  }

  #change(
    id: string,
    receiver: Receiver,
    change: (delivery: FileDelivery, now: number) => FileDelivery,
  ): Promise<void> {
    return this.#changing(async () => {
      const kept = readAlert(this.#path('waiting', id)) ?? readAlert(this.#path('ended', id));
      const delivery = kept?.deliveries.find((one) => one.receiver === receiver);
      if (kept && delivery) await this.#put(withDelivery(kept, change(delivery, this.#now())));
    });
  }

  /** Writes an alert to its folder, and removes it from the other one. */
  async #put(kept: FileAlert): Promise<void> {
    const { id } = kept.alert;
    const folder = kept.deliveries.some(({ state }) => state === 'waiting') ? 'waiting' : 'ended';
    const other = this.#path(folder === 'waiting' ? 'ended' : 'waiting', id);
    await this.#write(folder, kept);
    rmSync(other, { force: true });
  }

  async #write(folder: 'waiting' | 'ended', kept: FileAlert): Promise<void> {
    makeFolder(this.#folder(folder));
    await writeDurably(this.#path(folder, kept.alert.id), JSON.stringify(kept, null, 2));
  }

  #changing<T>(work: () => Promise<T>): Promise<T> {
    return withLock(join(this.#dir, 'outbox.lock'), work, { waitMs: CHANGE_MS, what: 'the list of alerts' });
  }

  /** The alerts of a folder, the oldest first. */
  #read(folder: 'waiting' | 'ended'): readonly FileAlert[] {
    const all = namesIn(this.#folder(folder)).map((name) => readAlert(join(this.#folder(folder), name)));
    return all.filter((kept) => kept !== null).sort((a, b) => a.alert.createdAt.localeCompare(b.alert.createdAt));
  }

  #folder(name: 'waiting' | 'ended'): string {
    return join(this.#dir, name);
  }

  #path(folder: 'waiting' | 'ended', id: string): string {
    return join(this.#folder(folder), `${id}.json`);
  }
}

const waiting = (receiver: Receiver, now: number, forMs: number): FileDelivery => ({
  ...{ receiver, state: 'waiting', attempts: 0, nextAt: now, until: now + forMs, error: null, endedAt: null },
});

const isDue = ({ state, nextAt, claimedUntil }: FileDelivery, now: number): boolean =>
  state === 'waiting' && (nextAt ?? 0) <= now && (claimedUntil ?? 0) <= now;

const free = (delivery: FileDelivery): FileDelivery => ({ ...delivery, claimedBy: null, claimedUntil: null });

function after(attempted: Attempted, now: number): Pick<Delivery, 'state' | 'nextAt' | 'error' | 'endedAt'> {
  if (attempted.ok) return { state: 'delivered', nextAt: null, error: null, endedAt: now };
  const { error, retryMs } = attempted;
  return retryMs === null
    ? { state: 'undelivered', nextAt: null, error, endedAt: now }
    : { state: 'waiting', nextAt: now + retryMs, error, endedAt: null };
}

function withDelivery(kept: FileAlert, delivery: FileDelivery): FileAlert {
  const others = kept.deliveries.map((one) => (one.receiver === delivery.receiver ? delivery : one));
  return { ...kept, deliveries: others };
}

const shown = ({ receiver, state, attempts, nextAt, until, error, endedAt }: FileDelivery): Delivery => ({
  ...{ receiver, state, attempts, nextAt, until, error, endedAt },
});

function namesIn(dir: string): readonly string[] {
  return existsSync(dir) ? readdirSync(dir).filter((name) => /^alert_[0-9a-f]{32}\.json$/.test(name)) : [];
}

/** Null for a missing or damaged file: it must not keep the other alerts from being delivered. */
function readAlert(path: string): FileAlert | null {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as FileAlert;
    const isWhole = typeof kept.alert.id === 'string' && typeof kept.alert.createdAt === 'string';
    return isWhole && Array.isArray(kept.deliveries) ? kept : null;
  } catch {
    return null;
  }
}
