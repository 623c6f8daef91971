import { asyncLocalStorage } from '@temporalio/activity';

/** Writes a warning to the log of the activity that runs, if one does. */
export function warnInActivity(message: string): void {
  asyncLocalStorage.getStore()?.log.warn(message);
}
