const NO_TLS = 'the port does not speak TLS (check the port; a server on this machine may use http://)';
const reasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet (check the clock of this machine)',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate chain has a self-signed certificate (behind a company proxy, set NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of its certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of its certificate is unknown (add it with NODE_EXTRA_CA_CERTS)',
  CERT_REVOKED: 'its certificate was revoked',
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ENOTFOUND: 'the host is not in DNS',
  EAI_AGAIN: 'DNS does not answer',
  EAI_FAIL: 'DNS failed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset while it was opened',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  EACCES: 'this machine forbids the connection',
  EMFILE: 'this process has no file handles left',
};

/** Says what an error code of a connection means; the code itself if it is not known. */
export const networkReason = (code: string): string => reasons[code] ?? code;

/**
 * Describes why no connection to `host` could be opened, and names the setting of the host's address. Pure; `code` is an error
 * code of Node, OpenSSL or undici. In all these cases the request was not sent, so it was not charged.
 */
export function connectProblem(code: string | null, host: string, setting: string): string {
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return 'not sent: the client is closed';
  const known = code === null ? undefined : reasons[code];
  const why = known ?? (code?.startsWith('ERR_SSL_') ? 'TLS failed' : 'the connection failed');
  const shownCode = code === null ? '' : ` [${code}]`;
  return `cannot reach ${host}: ${why}${shownCode}; the address is set by ${setting}`;
}

/** Describes the answer of a gateway or proxy that refuses a request in the name of `host`. */
export function strangerProblem(status: number, host: string, setting: string): string {
  if (status === 407)
    return `a proxy before ${host} wants a login, and not the service; put it into HTTPS_PROXY, or correct ${setting}`;
  return `a gateway or proxy before ${host} refuses the request, and not the service; allow requests to ${host}, set the headers that it wants (SEARCHFLOW_HEADERS), or correct ${setting}`;
}

/** Says what a status means if the status alone does not, with the setting of the address where that is wrong; null for other statuses. */
export function statusProblem(status: number, location: string | null, base: string, setting: string): string | null {
  if (status === 413 || status === 414) return 'the request was too large for the service or a proxy before it';
  if (status < 300 || status > 399) return null;
  const host = location === null ? null : redirectHost(location, base);
  const where = host === null ? 'elsewhere' : `to host ${host}`;
  return `a redirect ${where} was not followed; set ${setting} to the right address`;
}

function redirectHost(location: string, base: string): string | null {
  return URL.canParse(location, base) ? new URL(location, base).host || null : null;
}
