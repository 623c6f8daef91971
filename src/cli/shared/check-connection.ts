import { connectProblem } from '../../core/connections/connect-problem.js';
import { isPostgresUrl } from '../../core/connections/postgres-address.js';
import { proxiesTo } from '../../core/connections/proxies.js';
import { CodedError } from '../../core/errors/coded-error.js';
import { probe } from '../../worker/config/probe.js';
import type { RuntimeConfig } from '../../worker/config/runtime-types.js';
import { whyAway } from '../../worker/store/check-database.js';
import { printable } from '../text.js';

/** The service or the warehouse is unreachable; nothing was sent. The message names the setting. */
export class Unreachable extends CodedError {
  override readonly name = 'Unreachable';
}

const CONNECT_MS = 10_000;

/**
 * Opens and closes one connection to the real service, without a request. Throws `Unreachable` for a wrong address. Without
 * this check, a job with a wrong address would wait for the service.
 */
export async function checkConnection({
  service,
  baseUrl,
  wire,
}: Pick<RuntimeConfig, 'service' | 'baseUrl' | 'wire'>): Promise<void> {
  // Whether a proxy reaches the service is only known from a request.
  const url = new URL(baseUrl);
  if (service !== 'live' || proxiesTo(url.hostname, wire?.proxy)) return;
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const code = await probe({ host: url.hostname, port, timeout: CONNECT_MS }, secure ? {} : null);
  if (code === null) return;
  const why = connectProblem(code, printable(url.host), 'SEARCHFLOW_BASE_URL');
  throw new Unreachable('service-unreachable', `The service: ${why}. Nothing was bought.`);
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
    'postgres-unreachable',
    `${why} (${named === null ? 'SEARCHFLOW_WAREHOUSE_URL' : '--into'}). Nothing was started or bought. ` +
      'Running jobs of this warehouse continue when the database is back.',
  );
}
