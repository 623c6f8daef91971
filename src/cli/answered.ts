import { setTimeout as sleep } from 'node:timers/promises';
import { JobFailed, UsageError } from '../worker/runtime-types.js';

/** A living worker answers within milliseconds, a server that is started for it in a second or two; one that is gone never does. */
const ANSWER_MS = 4000;

/** What a workflow answers; null where nothing answers for it: it never ran on this server, or no worker lives. */
export async function answered<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await Promise.race([ask(), sleep(ANSWER_MS, null, { ref: false })]);
  } catch (error) {
    if (error instanceof UsageError || error instanceof JobFailed) throw error;
    return null;
  }
}
