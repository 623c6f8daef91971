import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { ConnectionOptions as TemporalOptions } from '@temporalio/client';
import { networkReason } from '../../core/connections/connect-problem.js';
import { type Found, messageOf, problem, type Setup } from './finding.js';

const CONNECT_MS = 4000;

/** Why there is no connection to a Temporal server, with what to do; null if there is one. */
export async function connectionFinding({ config, env }: Setup, address: string): Promise<Found | null> {
  const { openClient, reasonOf, refusedCodes } = await import('../temporal-server/open-client.js');
  const setting = config.temporalAddress === null ? 'the embedded server' : 'TEMPORAL_ADDRESS';
  const port = await probe(address, null);
  if (port !== 'open') return noServer(address, setting, port);
  const tls = config.temporalAddress === null ? null : await tlsOf(env);
  // TLS is checked first, because the client of Temporal waits for seconds and gives no reason.
  const disagreement = config.temporalAddress === null ? null : await tlsFinding(address, tls);
  if (disagreement !== null) return disagreement;
  try {
    await (await openClient({ ...config, encrypts: null }, env, address, '3s')).close();
    return null;
  } catch (error) {
    const { code, reason } = reasonOf(error, env.TEMPORAL_API_KEY);
    const text = `No Temporal server answers at ${address} (${setting}): ${reason.replace(/\.$/, '')}.`;
    if (code !== null && refusedCodes.includes(code))
      return problem(
        `The Temporal server at ${address} refuses the login: ${reason.replace(/\.$/, '')}.`,
        'Check TEMPORAL_API_KEY, TEMPORAL_NAMESPACE and the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH).',
      );
    if (/^SEARCHFLOW_DATA_CONVERTER/.test(messageOf(error)))
      return problem(`${messageOf(error)}.`, 'Correct the module, or the path in SEARCHFLOW_DATA_CONVERTER.');
    if (config.temporalAddress === null)
      return problem(
        text,
        'End its commands and workers, and run one of them again: it replaces a server that does not answer.',
      );
    if (tls !== null && !tls.clientCertPair)
      return problem(
        `The Temporal server at ${address} ends connections without a client certificate.`,
        'Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or TEMPORAL_API_KEY.',
      );
    return problem(text, 'Check that the address is that of the frontend of Temporal (gRPC), such as host:7233.');
  }
}

function noServer(address: string, setting: string, why: string): Found {
  const text = `No server accepts connections at ${address} (${setting}): ${networkReason(why)}.`;
  if (/ENOTFOUND|EAI_AGAIN/.test(why))
    return problem(text, 'Correct the host in TEMPORAL_ADDRESS, or the DNS of this machine.');
  if (/ECONNREFUSED/.test(why))
    return problem(
      text,
      'Start the server, or correct TEMPORAL_ADDRESS; without it, commands use an embedded server. A server for tests:',
      'temporal server start-dev',
    );
  return problem(text, 'Open the way to the server (firewall, VPN), or correct TEMPORAL_ADDRESS.');
}

type Tls = Exclude<NonNullable<TemporalOptions['tls']>, boolean>;

/** The TLS of Temporal's own settings; null: plain text. */
async function tlsOf(env: Setup['env']): Promise<Tls | null> {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined),
  );
  const { tls, apiKey } = loadClientConnectConfig({ overrideEnvVars }).connectionOptions;
  if (typeof tls === 'object' && tls !== null) return tls;
  return tls === true || (tls === undefined && apiKey) ? {} : null;
}

/** Whether the server and the settings disagree about TLS; null if they agree. */
async function tlsFinding(address: string, tls: Tls | null): Promise<Found | null> {
  const speaks = await probe(address, { rejectUnauthorized: false, ...identityOf(tls) });
  const isPlain = speaks !== 'open' && /EPROTO|WRONG_VERSION|PACKET_LENGTH|ECONNRESET|ended/i.test(speaks);
  if (tls === null)
    return speaks === 'open'
      ? problem(
          `The Temporal server at ${address} needs TLS, and the settings have none.`,
          'Turn on TLS:',
          'export TEMPORAL_TLS=true',
        )
      : null;
  if (isPlain)
    return problem(
      `The Temporal server at ${address} does not speak TLS, and the settings ask for it.`,
      'Turn TLS off (TEMPORAL_API_KEY turns it on, too), or name the port with TLS:',
      'export TEMPORAL_TLS=false',
    );
  const servername = tls.serverNameOverride ?? undefined;
  const verified = await probe(address, {
    ...identityOf(tls),
    ...(servername === undefined ? {} : { servername }),
    ...(tls.serverRootCACertificate ? { ca: Buffer.from(tls.serverRootCACertificate) } : {}),
  });
  if (verified === 'open') return null;
  if (/ALTNAME/.test(verified))
    return problem(
      `The certificate of the Temporal server at ${address} is for another name.`,
      'Set TEMPORAL_TLS_SERVER_NAME to the name in the certificate.',
    );
  return problem(
    `The certificate of the Temporal server at ${address} is not trusted: ${networkReason(verified)}.`,
    'Name the file with the certificate of its authority:',
    'export TEMPORAL_TLS_SERVER_CA_CERT_PATH=/path/authority.pem',
  );
}

const identityOf = (tls: Tls | null): ConnectionOptions =>
  tls?.clientCertPair ? { cert: Buffer.from(tls.clientCertPair.crt), key: Buffer.from(tls.clientCertPair.key) } : {};

/** Opens and closes a connection, with TLS unless the options are null. Returns `open`, or the error in a few words. */
export function probe(address: string, tls: ConnectionOptions | null): Promise<string> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const to = { host, port: Number(port || 7233), timeout: CONNECT_MS };
  const named = /^[\d.:]+$/.test(host) ? {} : { servername: host };
  return new Promise((resolve) => {
    const end = (result: string) => {
      socket.destroy();
      resolve(result);
    };
    const socket = tls === null ? connectTcp(to) : connectTls({ ALPNProtocols: ['h2'], ...named, ...to, ...tls });
    socket.once(tls === null ? 'connect' : 'secureConnect', () => end('open'));
    socket.once('timeout', () => end(`no answer within ${CONNECT_MS / 1000} s`));
    socket.once('end', () => end('the server ended the connection'));
    socket.once('error', (error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }) => {
      const { code, message } = error.errors?.[0] ?? error;
      end(code ?? message);
    });
  });
}
