/** Global variable of the workflow bundle: true if failures are encrypted, see `workflows/failure-converter`. */
export const ENCRYPTS_FAILURES = 'searchflowEncryptsFailures';
