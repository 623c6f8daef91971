import { setTimeout as sleep } from 'node:timers/promises';
import { JobFailed, UsageError } from '../../worker/config/runtime-types.js';

/** A living worker answers within milliseconds, on a busy machine in seconds; one that is gone never does. */
const ANSWER_MS = 5000;

/**
 * What a workflow answers, once its server is reached; null where nothing answers for it: it never ran on this server, or no
 * worker lives.
 */
export async function answered<Handle, Answer>(
  reach: () => Promise<Handle>,
  ask: (handle: Handle) => Promise<Answer>,
): Promise<Answer | null> {
  try {
    const handle = await reach();
    return await Promise.race([ask(handle), sleep(ANSWER_MS, null, { ref: false })]);
  } catch (error) {
    if (error instanceof UsageError || error instanceof JobFailed) throw error;
    return null;
  }
}
