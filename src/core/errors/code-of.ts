import { callCodes } from './call-codes.js';
import type { ErrorCode } from './registry.js';

/** Codes by the type of a failure in Temporal, or the name of an error class. The types are in histories and never change. */
const byType: Readonly<Record<string, ErrorCode>> = {
  ...callCodes,
  ServiceUnrecognized: 'service-unrecognized',
  AllRefused: 'requests-refused',
  BudgetExceeded: 'budget-reached',
  WarehouseBusy: 'warehouse-in-use',
  WarehouseUnusable: 'warehouse-unusable',
  BodiesGone: 'answers-gone',
  StoreUnusable: 'postgres-refused',
  BadInput: 'workflow-input-invalid',
  SecretLost: 'monitor-secret-lost',
  PlanDiffers: 'monitor-batch-stopped',
  PlanChanged: 'monitor-batch-stopped',
  NoProgress: 'monitor-batch-stopped',
  WalkError: 'pagination-broken',
  CancelledFailure: 'job-cancelled',
  TerminatedFailure: 'job-stopped',
  PostgresAway: 'postgres-unreachable',
  PostgresRefused: 'postgres-refused',
  LockBusy: 'lock-busy',
  EntryDamaged: 'state-damaged',
};

/** Codes of system errors. */
const bySystem: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'file-missing',
  EACCES: 'file-refused',
  EPERM: 'file-refused',
  EROFS: 'file-refused',
  EISDIR: 'file-refused',
  ENOTDIR: 'file-refused',
  ELOOP: 'state-damaged',
  ENOSPC: 'disk-full',
  EDQUOT: 'disk-full',
  EMFILE: 'too-many-open-files',
  ENFILE: 'too-many-open-files',
  EADDRINUSE: 'port-in-use',
  ERR_MODULE_NOT_FOUND: 'installation-incomplete',
  MODULE_NOT_FOUND: 'installation-incomplete',
};

/** Returns the code of a refusal of PostgreSQL by its SQLSTATE; null: the connection was refused before the login. */
export function codeOfSqlState(state: string | null): ErrorCode {
  if (state !== null && /^(28|3D)/.test(state)) return 'postgres-login-refused';
  return state === '42501' ? 'postgres-rights-missing' : 'postgres-refused';
}

export function codeOfCap(scope: unknown): ErrorCode {
  if (scope === 'worker') return 'worker-budget-reached';
  return scope === 'day' || scope === 'month' ? 'team-budget-reached' : 'budget-reached';
}

/** Maximum number of causes that are read; a chain of causes may be circular. */
const MAX_CAUSES = 10;

/** Returns the code of any error. The first known error in the chain of causes decides; an unknown error is `unexpected`. */
export function codeOfError(error: unknown): ErrorCode {
  let cause = error;
  let ended: ErrorCode | null = null;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    const code = ownCode(cause);
    if (code !== null) return code;
    ended ??= cause.name === 'JobFailed' ? 'job-failed' : cause.name === 'JobStopped' ? 'job-stopped' : null;
    cause = cause.cause;
  }
  return ended ?? 'unexpected';
}

function ownCode(error: Error): ErrorCode | null {
  const { errorCode, type, details, code } = error as Partial<
    Record<'errorCode' | 'type' | 'details' | 'code', unknown>
  >;
  if (typeof errorCode === 'string') return errorCode as ErrorCode;
  const [detail] = Array.isArray(details) ? (details as unknown[]) : [];
  const facts = Object(detail) as { readonly errorCode?: unknown; readonly scope?: unknown };
  if (typeof facts.errorCode === 'string') return facts.errorCode as ErrorCode;
  if (type === 'BudgetExceeded') return codeOfCap(facts.scope);
  return found(byType, type) ?? found(byType, error.name) ?? found(bySystem, code);
}

const found = (codes: Readonly<Record<string, ErrorCode>>, name: unknown): ErrorCode | null =>
  (typeof name === 'string' && Object.hasOwn(codes, name) && codes[name]) || null;
