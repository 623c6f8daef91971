/** The database can't be reached now: wait, then try again. */
export class PostgresAway extends Error {
  override readonly name = 'PostgresAway';
}

/** The server accepted a connection and then said nothing. */
export class PostgresSilent extends Error {
  override readonly name = 'PostgresSilent';
  constructor(silentMs: number) {
    super(`no answer for ${Math.round(silentMs / 1000)} s`);
  }
}

/** The database refuses until a person changes something: password, permission, a name that is missing. */
export class PostgresRefused extends Error {
  override readonly name = 'PostgresRefused';
  constructor(
    message: string,
    /** SQLSTATE, where the server gave one. */
    readonly code: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What a failure calls for: `away` the same again later, `again` the transaction again at once, `other` neither. */
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
/** Sentences of the driver about a connection that broke; it gives these no code. */
const lostSaid =
  /connection terminated|connection ended|client has encountered a connection error|timeout (exceeded|expired)/i;

/** A server without TLS, or a certificate that is not to be believed. */
const untrusted = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const untrustedSaid = /does not support SSL/i;

/** Sorts a failure of the driver or the server by what to do about it. */
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
  // Shutting down, starting up, too many connections, a standby that was promoted away: classes 08, 53, 57P.
  if (/^(08|53[034]|57P)/.test(code) || code === '25006') return 'away';
  // The server ended a transaction that had stopped: this process was asleep, or out of touch.
  if (code === '25P03' || code === '25P04') return 'away';
  // Serialization failure, deadlock, lock wait, and a statement that a timeout or a person cancelled.
  if (code === '40001' || code === '40P01' || code === '55P03' || code === '57014') return 'again';
  if (/^28/.test(code) || code === '3D000' || code === '42501') return 'refused';
  return 'other';
}

/** What to change about a pooler that says so, or null where it is none. */
export function poolerProblem(message: string): string | null {
  if (/statement pooling mode/i.test(message)) return 'set pool_mode of the pooler to session or transaction';
  if (/unsupported startup parameter/i.test(message))
    return 'leave that parameter out of the address, or name it in ignore_startup_parameters of the pooler';
  return null;
}
