import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isPostgresUrl } from '../../core/connections/postgres-address.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';
import { whyAway } from '../../worker/store/check-database.js';
import { printable } from '../text/printable.js';

/** The service or the warehouse is unreachable; nothing was sent. The message names the setting. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

const CONNECT_MS = 10_000;

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'the DNS lookup failed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no answer within 10 s',
  EPROTO: 'the server does not speak TLS on this port (check the port; a server on this machine may use http://)',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'the server does not speak TLS on this port (check the port; a server on this machine may use http://)',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified',
};

/**
 * Opens and closes one connection to the real service, without a request. Throws `Unreachable` for a wrong address. Without
 * this check, a job with a wrong address would wait for the service.
 */
export async function checkConnection(config: Pick<RuntimeConfig, 'service' | 'baseUrl'>): Promise<void> {
  if (config.service !== 'live') return;
  const url = new URL(config.baseUrl);
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || (secure ? 443 : 80));
  const socket = secure
    ? connectTls({ host, port, ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }) })
    : connectTcp({ host, port });
  try {
    await connected(socket, secure ? 'secureConnect' : 'connect');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = reasons[code ?? ''] ?? printable(message);
    throw new Unreachable(
      `${printable(config.baseUrl)} (SEARCHFLOW_BASE_URL) is unreachable: ${reason}. Nothing was bought.`,
      {
        cause: error,
      },
    );
  } finally {
    socket.destroy();
  }
}

/**
 * Throws `Unreachable` if the database of a warehouse does not answer within `patienceMs`. Without this check, a job would wait
 * for the database without a limit. `into`: the address as typed; a file is not checked.
 */
export async function checkWarehouse(
  { warehouse, say }: Pick<RuntimeConfig, 'warehouse' | 'say'>,
  into: string | null | undefined,
  patienceMs?: number,
): Promise<void> {
  const named = into ?? null;
  if (!warehouse || (named !== null && !isPostgresUrl(named))) return;
  const why = await whyAway(warehouse, say, patienceMs);
  if (why === null) return;
  throw new Unreachable(
    `${why} (${named === null ? 'SEARCHFLOW_WAREHOUSE_URL' : '--into'}). Nothing was started or bought. ` +
      'Running jobs of this warehouse continue when the database is back.',
  );
}

function connected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(CONNECT_MS, () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    socket.once('error', (error: Error & { readonly errors?: readonly Error[] }) => reject(error.errors?.[0] ?? error));
    socket.once(event, resolve);
  });
}
