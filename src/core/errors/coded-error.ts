import type { ErrorCode } from './registry.js';

/** An error of a known kind. docs/errors.md says what to do. */
export interface Coded {
  readonly errorCode: ErrorCode;
}

/** An error that needs no class of its own: nothing catches it, and a person reads it. */
export class CodedError extends Error implements Coded {
  constructor(
    readonly errorCode: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Bad input of any kind, described in one clear sentence or several lines. Nothing was bought. The command ends with exit code 2, but
 * with 1 for an outage (`exitCodeOfUsage`).
 */
export class UsageError extends CodedError {
  override readonly name = 'UsageError';
}
