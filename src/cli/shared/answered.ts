import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '../../core/errors/registry.js';
import { JobFailed, UsageError } from '../../worker/config/runtime-types.js';

/** A database does not answer, and waiting longer may not help. */
export class Silent extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'Silent';
}

/** Returns the value of `work`. Rejects with `Silent` and the message after `ms` milliseconds; `work` itself continues. */
export async function within<T>(ms: number, work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Silent(message)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const PROBE_EVERY_MS = 1000;

/**
 * Returns the value of `work`, however long it takes, as long as `probe` resolves. Rejects with the error of `probe` if
 * `probe` rejects.
 */
export async function whileAnswering<T>(probe: () => Promise<unknown>, work: Promise<T>): Promise<T> {
  const ended = work.then((value) => ({ value }));
  for (;;) {
    const done =
      (await Promise.race([ended, probe().then(() => null)])) ??
      (await Promise.race([ended, sleep(PROBE_EVERY_MS, null, { ref: false })]));
    if (done !== null) return done.value;
  }
}

/**
 * Longest wait for an answer. A worker answers within milliseconds, or within seconds on a busy machine. Starting a server
 * takes seconds, too.
 */
const ANSWER_MS = 8000;

/**
 * Returns a workflow's answer. Returns null if no server can be reached or started in time, if the workflow never ran on the
 * server, or if no worker is alive. Throws only `UsageError` and `JobFailed`.
 */
export async function answered<Handle, Answer>(
  connect: () => Promise<Handle>,
  ask: (handle: Handle) => Promise<Answer>,
  ms = ANSWER_MS,
): Promise<Answer | null> {
  try {
    const asked = connect().then(ask);
    return await Promise.race([asked, sleep(ms, null, { ref: false })]);
  } catch (error) {
    if (error instanceof UsageError || error instanceof JobFailed) throw error;
    return null;
  }
}
