import { codeOfSqlState } from '../core/errors/code-of.js';
import type { ErrorCode } from '../core/errors/registry.js';

/** The database cannot be reached now; retry later. */
export class PostgresAway extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'PostgresAway';
}

/** The server accepted a connection and then did not answer. */
export class PostgresSilent extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'PostgresSilent';
  constructor(silentMs: number) {
    super(`no answer for ${Math.round(silentMs / 1000)} s`);
  }
}

/** The database refuses until a person changes something, such as a password, a permission or a missing name. */
export class PostgresRefused extends Error {
  readonly errorCode: ErrorCode;
  override readonly name = 'PostgresRefused';
  constructor(
    message: string,
    /** SQLSTATE, if the server sent one. */
    readonly code: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.errorCode = codeOfSqlState(code);
  }
}

/** How to handle a failure: `away` retry later, `again` retry the transaction now, `refused` and `other` do not retry. */
export type Problem = 'away' | 'again' | 'refused' | 'other';

const lost = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** Messages of the driver about a broken connection; these errors have no code. */
const lostSaid =
  /connection terminated|connection ended|client has encountered a connection error|timeout (exceeded|expired)/i;

/** Error codes of a server without TLS, or of a certificate that cannot be verified. */
const untrusted = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const untrustedSaid = /does not support SSL/i;

/** Classifies a failure of the driver or the server by how to handle it. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof Error)) return 'other';
  const code = (error as { code?: unknown }).code;
  if (error instanceof PostgresSilent) return 'away';
  if (poolerProblem(error.message) !== null) return 'refused';
  if (error instanceof AggregateError && error.errors.length > 0) return problemOf(error.errors[0]);
  if (typeof code !== 'string') {
    if (untrustedSaid.test(error.message)) return 'refused';
    return lostSaid.test(error.message) ? 'away' : 'other';
  }
  if (untrusted.test(code)) return 'refused';
  if (lost.has(code)) return 'away';
  // The server is shutting down, is starting up, has too many connections, or is read-only after a failover: classes 08, 53, 57P.
  if (/^(08|53[034]|57P)/.test(code) || code === '25006') return 'away';
  // The server ended an idle transaction: this process was suspended or disconnected.
  if (code === '25P03' || code === '25P04') return 'away';
  // These codes mean a serialization failure, a deadlock, a lock timeout, or a statement that a timeout or a person cancelled.
  if (code === '40001' || code === '40P01' || code === '55P03' || code === '57014') return 'again';
  if (/^28/.test(code) || code === '3D000' || code === '42501') return 'refused';
  return 'other';
}

/** Returns how to change the configuration of the pooler that sent this message; null for other messages. */
export function poolerProblem(message: string): string | null {
  if (/statement pooling mode/i.test(message)) return "set the pooler's pool_mode to session or transaction";
  if (/unsupported startup parameter/i.test(message))
    return "remove that parameter from the address, or add it to the pooler's ignore_startup_parameters";
  return null;
}
