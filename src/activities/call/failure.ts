import { ApplicationFailure, ApplicationFailureCategory, TemporalFailure } from '@temporalio/common';
import { ApiError } from '../../api/wire/errors.js';
import { BUDGET_EXCEEDED } from '../../core/choices.js';
import { codeOfError, codeOfSqlState } from '../../core/errors/code-of.js';
import type { ErrorCode } from '../../core/errors/registry.js';
import { MAX_BLOCK_MS } from '../../core/limiter/rate.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { BodiesGone } from '../../core/purchase/journal.js';
import { OverBudget } from '../../core/purchase/spend.js';
import {
  ALL_REFUSED,
  type AllRefusedFacts,
  type OverBudgetFacts,
  SERVICE_UNRECOGNIZED,
} from '../../core/rows/stop-at-failed.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { MAX_UNRECOGNIZED, ServiceUnrecognized } from './circuit-breaker.js';

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}

/**
 * The service refused all requests of a purchase for the same reason, so the part that all requests share must be wrong. `rows`: number of
 * rows of the job; null for a purchase without a job.
 */
export class AllRefused extends Error {
  override readonly name = 'AllRefused';
  readonly errorCode = 'requests-refused' satisfies ErrorCode;
  constructor(
    readonly refusal: ApiError,
    readonly requests: number,
    readonly rows: number | null = null,
  ) {
    super(refusal.message, { cause: refusal });
  }
}

/** Types of local failures. Workflows match these names. */
export const localFailures = {
  warehouseBusy: 'WarehouseBusy',
  warehouseUnusable: 'WarehouseUnusable',
  bodiesGone: 'BodiesGone',
  storeUnusable: 'StoreUnusable',
  badInput: 'BadInput',
  waiting: 'Waiting',
} as const;

/**
 * Number of attempts that may end in an unexpected failure. After these attempts the job fails with the reason. Without this bound, the job
 * would hang silently.
 */
const MAX_UNEXPECTED = 10;
/** Attempts at an input that may be readable a moment later, such as a file that is being replaced. Other bad inputs are final at once. */
const MAX_INPUT = 3;
/** Names of input errors. Errors are matched by name, because some of their classes cannot be imported here. */
const ofInput = ['CsvError', 'UsageError'];

/** Attempts at a free answer of the wrong shape, which may have been damaged on its way. */
export const MAX_MISSHAPEN = 3;

/**
 * Maps any error to a Temporal failure. Details hold facts for programs (status, tag, request id), never a key or a body. `isFree`: another
 * attempt costs nothing and changes nothing. `longestMs`: the longest wait for the service that is left to Temporal; a longer one is final.
 */
export function toFailure(error: unknown, attempt = 1, isFree = false, longestMs = MAX_BLOCK_MS): unknown {
  if (error instanceof ServiceUnrecognized) return ApplicationFailure.nonRetryable(error.message, SERVICE_UNRECOGNIZED);
  if (isApiError(error) && error.facts.unrecognized && attempt >= MAX_UNRECOGNIZED)
    return toFailure(new ServiceUnrecognized(error, attempt));
  if (error instanceof AllRefused) {
    const { refusal, requests, rows } = error;
    if (rows === null) return toFailure(refusal, attempt);
    return ApplicationFailure.nonRetryable(error.message, ALL_REFUSED, { requests, rows } satisfies AllRefusedFacts);
  }
  if (isApiError(error)) {
    const { verdict, facts } = error;
    const waits = verdict.type === 'RateLimited' || verdict.type === 'ConcurrencyLimited';
    const tooLong = waits && (facts.retryAfterMs ?? 0) > longestMs;
    const delay = facts.retryAfterMs ?? (waits ? backoffMs(attempt - 1, 1000, 60_000, Math.random()) : null);
    return ApplicationFailure.create({
      type: verdict.type,
      message: error.message,
      nonRetryable: !(verdict.retry || (isFree && facts.wrongShape && attempt < MAX_MISSHAPEN)) || tooLong,
      // A wait that the service asks for is not logged as a failure.
      category: waits && !tooLong ? ApplicationFailureCategory.BENIGN : undefined,
      nextRetryDelay: verdict.retry && !tooLong && delay !== null ? Math.min(delay, longestMs) : undefined,
      details: [
        {
          status: facts.status,
          tag: facts.tag,
          requestId: error.requestId,
          retryAfterMs: facts.retryAfterMs,
          challenge: error.details,
        },
      ],
    });
  }
  if (error instanceof OverBudget) {
    const { scope, capMicros, remainingMicros, resetsAt, multiple } = error;
    const facts: OverBudgetFacts = { scope, capMicros, remainingMicros, resetsAt, multiple };
    return ApplicationFailure.nonRetryable(error.message, BUDGET_EXCEEDED, facts);
  }
  if (error instanceof WarehouseBusy) {
    return ApplicationFailure.create({
      type: localFailures.warehouseBusy,
      message: error.message,
      category: ApplicationFailureCategory.BENIGN,
      nextRetryDelay: 2000,
      details: [{ pid: error.pid, refusal: error.refusal }],
    });
  }
  if (error instanceof WarehouseUnusable)
    return ApplicationFailure.nonRetryable(error.message, localFailures.warehouseUnusable, ...codeDetails(error));
  if (error instanceof BodiesGone) return ApplicationFailure.nonRetryable(error.message, localFailures.bodiesGone);
  if (isStoreUnusable(error)) {
    const message = `the database refuses requests: ${error.message}. Fix the database; then run the same command to resume`;
    return ApplicationFailure.nonRetryable(message, localFailures.storeUnusable, ...codeDetails(error));
  }
  if (error instanceof Error && ofInput.includes(error.name)) {
    return ApplicationFailure.create({
      type: localFailures.badInput,
      message: error.message,
      nonRetryable: attempt >= MAX_INPUT || !('isTransient' in error && error.isTransient === true),
      details: codeDetails(error),
    });
  }
  if (error instanceof Error && !(error instanceof TemporalFailure) && attempt >= MAX_UNEXPECTED) {
    const message = `${error.message} (after ${attempt} attempts; run the same command to resume)`;
    return ApplicationFailure.nonRetryable(message, error.name, ...codeDetails(error));
  }
  return error;
}

/** The error code as details of a failure, for the command; none if the type of the failure has to tell it. */
function codeDetails(error: Error): [{ readonly errorCode: ErrorCode }] | [] {
  const { code } = error as { readonly code?: unknown };
  const isSqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !('errorCode' in error);
  const errorCode = isSqlState && isStoreUnusable(error) ? codeOfSqlState(code) : codeOfError(error);
  return errorCode === 'unexpected' ? [] : [{ errorCode }];
}

/**
 * Whether the refusal of a database is permanent: a login error (SQLSTATE classes 28 and 3D), or a missing or forbidden object (class 42).
 */
function isStoreUnusable(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof TemporalFailure) return false;
  const { code } = error as { readonly code?: unknown };
  return error.name === 'PostgresRefused' || (typeof code === 'string' && /^(28|3D|42)[0-9A-Z]{3}$/.test(code));
}

/**
 * Returns the failure that leaves a long wait to Temporal. Temporal does not log the wait as a failure of the activity. Its details are those
 * of a refused call.
 */
export function waiting(ms: number, why: string | null): ApplicationFailure {
  return ApplicationFailure.create({
    type: localFailures.waiting,
    message: `waiting ${Math.ceil(ms / 1000)} s: ${why ?? 'rate limit'}`,
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.ceil(ms),
    details: [{ waitMs: Math.ceil(ms), why: why ?? 'rate limit', status: null, requestId: null }],
  });
}
