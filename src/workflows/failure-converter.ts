import { DefaultFailureConverter } from '@temporalio/common';
import { ENCRYPTS_FAILURES } from '../core/processes/encrypted-failures.js';

/**
 * The failure converter of the bundle of the build: Temporal's own. Where payloads are encrypted, messages and stacks become payloads,
 * too. The worker sets the global variable, because workflows cannot read settings.
 */
export const failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: Reflect.get(globalThis, ENCRYPTS_FAILURES) === true,
});
