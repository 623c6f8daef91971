import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isPostgresUrl } from '../../core/text/postgres-address.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';
import { whyAway } from '../../worker/store/check-database.js';
import { printable } from '../text/printable.js';

/** The service, or the warehouse, can't be reached at all; nothing was sent. The message names the setting. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

const CONNECT_MS = 10_000;

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name could not be looked up',
  ECONNREFUSED: 'the connection is refused',
  ECONNRESET: 'the connection is reset',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no network',
  ETIMEDOUT: 'it does not answer in time',
  EPROTO: 'it does not speak TLS there (http instead of https?)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there (http instead of https?)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate can not be verified',
};

/**
 * Makes and drops one connection to the real service, without sending a request, so that a wrong address is told in a
 * sentence before a job waits for it; once a job runs, the same failure is waited out.
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
      `${printable(config.baseUrl)} (SEARCHFLOW_BASE_URL) can't be reached: ${reason}. Nothing was bought.`,
      {
        cause: error,
      },
    );
  } finally {
    socket.destroy();
  }
}

/**
 * Asks the database of a warehouse for a sign of life before a command loads into it, and waits a little for one: a job that has begun
 * waits without end. `into` as it was typed; a file is not looked at.
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
    `${why} (${named === null ? 'SEARCHFLOW_WAREHOUSE_URL' : '--into'}). Nothing was bought, and nothing was started; ` +
      'a job of this warehouse that was started before goes on when the database is back.',
  );
}

function connected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(CONNECT_MS, () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    socket.once('error', (error: Error & { readonly errors?: readonly Error[] }) => reject(error.errors?.[0] ?? error));
    socket.once(event, resolve);
  });
}
