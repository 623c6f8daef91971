/** A waiting caller. It leaves its queue when it is resolved, rejected or aborted, and only the first of these counts. */
export interface Waiter<T, R> {
  readonly item: T;
  resolve(result: R): void;
  reject(reason: unknown): void;
}

export interface WaitOptions {
  /** When aborted, the wait rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the caller goes before all others. */
  readonly first?: boolean;
  /** Called after an aborted caller has left the queue. */
  readonly onAbort?: () => void;
}

/** Callers that wait, in the order in which they came. The owner of the queue resolves or rejects them. */
export class WaitQueue<T, R = void> implements Iterable<Waiter<T, R>> {
  #waiters: Waiter<T, R>[] = [];

  get size(): number {
    return this.#waiters.length;
  }

  /** The waiters at this moment, in order. They may be resolved or rejected during the iteration. */
  [Symbol.iterator](): ArrayIterator<Waiter<T, R>> {
    return [...this.#waiters].values();
  }

  /** The waiter that has waited longest; undefined if the queue is empty. */
  get next(): Waiter<T, R> | undefined {
    return this.#waiters[0];
  }

  /** Waits until the owner of the queue resolves or rejects the caller. */
  wait(item: T, { signal, first = false, onAbort }: WaitOptions = {}): Promise<R> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal?.removeEventListener('abort', abort);
        const at = this.#waiters.indexOf(waiter);
        if (at !== -1) this.#waiters.splice(at, 1);
      };
      const abort = () => {
        leave();
        reject(signal?.reason);
        onAbort?.();
      };
      const waiter: Waiter<T, R> = {
        item,
        resolve: (result) => {
          leave();
          resolve(result);
        },
        reject: (reason) => {
          leave();
          reject(reason);
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      if (first) this.#waiters.unshift(waiter);
      else this.#waiters.push(waiter);
    });
  }

  rejectAll(reason: unknown): void {
    for (const waiter of this) waiter.reject(reason);
  }
}

/** Waits for work that several callers share. Rejects with the signal's reason when aborted; the work continues. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const queue = new WaitQueue<null, T>();
  const result = queue.wait(null, { signal });
  work.then(
    (value) => queue.next?.resolve(value),
    (error: unknown) => queue.next?.reject(error),
  );
  return result;
}
