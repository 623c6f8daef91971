import { asyncLocalStorage } from '@temporalio/activity';

/** Writes a warning to the log of the current activity, if there is one. */
export function warnInActivity(message: string): void {
  asyncLocalStorage.getStore()?.log.warn(message);
}
