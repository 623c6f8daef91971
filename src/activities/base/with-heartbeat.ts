import { Context } from '@temporalio/activity';
import { toFailure } from '../call/failure.js';
import { heartbeatFrom } from '../purchase/cancellation.js';

/** Runs an activity's work with a heartbeat from a timer; what goes wrong leaves by the one map. */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const heart = heartbeatFrom(() => null, 2000);
  try {
    return await work();
  } catch (error) {
    throw toFailure(error, Context.current().info.attempt);
  } finally {
    heart.stop();
  }
}
