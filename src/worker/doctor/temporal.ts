import { existsSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { Client, ConnectionOptions as TemporalOptions } from '@temporalio/client';
import { networkReason } from '../../core/connections/connect-problem.js';
import { shellWord } from '../../core/text/shell-word.js';
import { isAlive, processIsStopped } from '../../files/process-identity.js';
import { probe } from '../config/probe.js';
import { keyFileOf } from '../data-converter/data-converter.js';
import { schedulesHere } from '../schedules/schedule-control.js';
import { recordId } from '../store/team.js';
import { findTemporalBinary, hasTemporalFile, NOT_INSTALLED, waysOut } from '../temporal-server/binary.js';
import { SEPARATE_RECORDS, workerOn } from '../temporal-server/pollers.js';
import { addressOf, readRecord, serverFiles } from '../temporal-server/server-files.js';
import { bad, badBy, type Finding, fine, type Setup } from './databases.js';

const CONNECT_MS = 4000;
/** Longest wait for an answer of a server that accepts connections. */
const ANSWER_MS = 5000;

/** Checks the configured server, or the embedded one: its program, and the server if it runs. Starts and installs nothing. */
export async function checkTemporal(setup: Setup): Promise<readonly Finding[]> {
  const { config, isWrong } = setup;
  if (isWrong('temporalAddress', 'namespace', 'deployment', 'taskQueue', 'dataConverterPath', 'encrypts')) return [];
  if (config.temporalAddress !== null) return serverFindings(setup, config.temporalAddress);
  const record = readRecord(serverFiles(config.stateDir));
  const program = await programFinding(setup.env);
  if (record === null || !isAlive(record.pid, record.startTime)) return [program];
  if (processIsStopped(record.pid))
    return [
      program,
      bad(
        'temporal',
        `The embedded server (PID ${record.pid}) is suspended.`,
        `Continue its process:\n  kill -CONT ${record.pid}`,
      ),
    ];
  const rest = existsSync(keyFileOf(config.stateDir)) ? '. Histories are encrypted.' : ' and read histories.';
  const login = `The embedded server has no login: other users of this machine can start workflows${rest}`;
  const found = await serverFindings(setup, addressOf(record));
  return [program, ...found, fine('embedded-login', login, 'See docs/reference/trust.md.')];
}

/** Whether the program of the embedded server is here. Installs nothing. */
async function programFinding(env: Setup['env']): Promise<Finding> {
  if (!hasTemporalFile(env)) {
    const install = 'The first command that needs it builds it with Go or downloads it. To avoid this:';
    return fine('temporal-program', `${NOT_INSTALLED}.`, `${install}\n${waysOut(env)}`);
  }
  try {
    const { path, version } = await findTemporalBinary({ env, say: () => undefined, allowDownload: false });
    return fine('temporal-program', `${version.split(' (', 1)[0]} is at ${path}.`);
  } catch (error) {
    return badBy('temporal-program', error);
  }
}

async function serverFindings(setup: Setup, address: string): Promise<readonly Finding[]> {
  const { config, env } = setup;
  // The module is loaded here, because it needs the Temporal SDK, which may be missing.
  const { checkNamespace, noConnection, openClient } = await import('../temporal-server/open-client.js');
  const disagreement = await connectionFinding(setup, address);
  if (disagreement !== null) return [disagreement];
  // A missing key of the embedded server must not be created here.
  const opened = await openClient({ ...config, encrypts: null }, env, address, '3s').catch((error: unknown) => error);
  if (opened instanceof Error) return [badBy('temporal', noConnection(address, opened, env.TEMPORAL_API_KEY))];
  const { client, close } = opened as Awaited<ReturnType<typeof openClient>>;
  try {
    const info = await client.withDeadline(Date.now() + ANSWER_MS, () => client.workflowService.getSystemInfo({}));
    const server = fine('temporal', `Temporal ${info.serverVersion || 'of an unknown version'} answers at ${address}.`);
    try {
      await checkNamespace(client, config.namespace, address);
    } catch (error) {
      const create = `temporal operator namespace create --address ${shellWord(address)} --namespace ${shellWord(config.namespace)}`;
      const { check, why } = badBy('namespace', error);
      if (config.temporalAddress === null) return [server, fine(check, why, 'The next command creates it.')];
      return [server, bad(check, why, `Correct TEMPORAL_NAMESPACE, or create the namespace:\n  ${create}`)];
    }
    const worker = await workerFinding(client, setup).catch((error: unknown) => badBy('task-queue', error));
    return [server, fine('namespace', `The namespace ${config.namespace} exists.`), worker];
  } finally {
    await close();
  }
}

/** The worker of the task queue. */
async function workerFinding(client: Client, { config }: Setup): Promise<Finding> {
  const { taskQueue } = config;
  const [worker, schedules] = await Promise.all([workerOn(client, taskQueue), schedulesHere(client, taskQueue)]);
  const waiting = schedules.filter(({ state }) => !state.paused);
  if (worker === null && waiting.length === 0)
    return fine('task-queue', `No worker polls the task queue ${taskQueue}; commands run one themselves.`);
  if (worker === null)
    return bad(
      'task-queue',
      `No worker polls the task queue ${taskQueue}, and ${waiting.length} schedules wait for one.`,
      'Keep a worker running, under systemd or in tmux:\n  searchflow worker',
    );
  if (worker.record === recordId(config))
    return fine('task-queue', `A worker polls the task queue ${taskQueue} (${worker.who}).`);
  return bad(
    'task-queue',
    `A worker with another record polls the task queue ${taskQueue} (${worker.who}).`,
    SEPARATE_RECORDS,
  );
}

/**
 * Why no connection can be opened: no server, or server and settings disagree about TLS; null if it can. Checked first, because the client of
 * Temporal waits for seconds and gives no reason.
 */
async function connectionFinding({ config, env }: Setup, address: string): Promise<Finding | null> {
  const port = await connectTo(address, null);
  if (port !== null)
    return bad(
      'temporal',
      `No server accepts connections at ${address} (${config.temporalAddress === null ? 'the embedded server' : 'TEMPORAL_ADDRESS'}): ${networkReason(port)}.`,
      'Start the server, or correct TEMPORAL_ADDRESS; without it, commands use an embedded server.',
    );
  if (config.temporalAddress === null) return null;
  const tls = await tlsOf(env);
  const { clientCertPair: pair, serverNameOverride: servername, serverRootCACertificate: ca } = tls ?? {};
  const problem = await connectTo(address, {
    cert: pair ? Buffer.from(pair.crt) : undefined,
    key: pair ? Buffer.from(pair.key) : undefined,
    ca: ca ? Buffer.from(ca) : undefined,
    servername,
    rejectUnauthorized: tls !== null,
  });
  if (tls === null)
    return problem === null
      ? bad('temporal', `The Temporal server at ${address} needs TLS.`, 'Turn on TLS:\n  export TEMPORAL_TLS=true')
      : null;
  if (problem === null) return null;
  if (/EPROTO|WRONG_VERSION|PACKET_LENGTH|ECONNRESET|ended/i.test(problem))
    return bad(
      'temporal',
      `The Temporal server at ${address} does not speak TLS, or wants a client certificate.`,
      'Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or turn TLS off:\n  export TEMPORAL_TLS=false',
    );
  return bad(
    'temporal',
    `The certificate of the Temporal server at ${address} is not trusted: ${networkReason(problem)}.`,
    'Set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the file of its authority, or TEMPORAL_TLS_SERVER_NAME to the name in the certificate.',
  );
}

type Tls = Exclude<NonNullable<TemporalOptions['tls']>, boolean>;

/** The TLS of Temporal's own settings; null: plain text. */
async function tlsOf(env: Setup['env']): Promise<Tls | null> {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig');
  const entries = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
  const { tls, apiKey } = loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(entries) }).connectionOptions;
  if (typeof tls === 'object' && tls !== null) return tls;
  return tls === true || (tls === undefined && apiKey) ? {} : null;
}

/** Opens and closes a connection to a Temporal server. */
function connectTo(address: string, tls: ConnectionOptions | null): Promise<string | null> {
  const { hostname: host, port } = new URL(`tcp://${address}`);
  return probe({ host, port: Number(port || 7233), timeout: CONNECT_MS }, tls && { ALPNProtocols: ['h2'], ...tls });
}
