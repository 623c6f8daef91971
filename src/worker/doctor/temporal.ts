import { existsSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import { shellWord } from '../../core/text/shell-word.js';
import { isAlive, processIsStopped } from '../../files/process-identity.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { keyFileOf } from '../data-converter/encryption-key.js';
import { addressOf, readRecord, serverFiles } from '../temporal-server/server-files.js';
import { type Found, messageOf, ok, problem, type Setup, skipped, warning } from './finding.js';
import { queueFindings } from './task-queue.js';
import { connectionFinding } from './temporal-connection.js';
import { programFinding } from './temporal-program.js';

/** Longest wait for an answer of a server that accepts connections. */
const ANSWER_MS = 5000;
const NOT_FOUND = 5;

/** Checks the configured server, or the embedded one: its program, and the server if it runs. Starts and installs nothing. */
export async function checkTemporal(setup: Setup): Promise<readonly Found[]> {
  const { config, env, isWrong } = setup;
  if (isWrong('Temporal', 'TEMPORAL_', 'SEARCHFLOW_TASK_QUEUE', 'SEARCHFLOW_DATA_CONVERTER', 'SEARCHFLOW_ENCRYPT'))
    return [skipped('a setting of Temporal')];
  if (config.temporalAddress !== null) return serverFindings(setup, config.temporalAddress);
  const record = readRecord(serverFiles(config.stateDir));
  const runs = record !== null && isAlive(record.pid, record.startTime);
  const program = { ...(await programFinding(env)), check: 'temporal-program' };
  if (!runs) return [program, ok('The embedded server is not running; the next command that needs it starts it.')];
  if (processIsStopped(record.pid))
    return [
      program,
      problem(
        `The embedded server (PID ${record.pid}) is suspended.`,
        'Continue its process:',
        `kill -CONT ${record.pid}`,
      ),
    ];
  return [program, ...(await serverFindings(setup, addressOf(record))), loginFinding(setup)];
}

/** What other users of the machine can do with the embedded server. */
const loginFinding = ({ config: { stateDir } }: Setup): Found => ({
  ...ok(
    existsSync(keyFileOf(stateDir))
      ? 'The embedded server has no login: other users of this machine can start workflows. Histories are encrypted.'
      : 'The embedded server has no login: other users of this machine can start workflows and read histories. ' +
          'See docs/reference/trust.md.',
  ),
  check: 'embedded-login',
});

async function serverFindings(setup: Setup, address: string): Promise<readonly Found[]> {
  const { config, env } = setup;
  // The module is loaded here, because it needs the Temporal SDK, which may be missing.
  const { openClient, reasonOf } = await import('../temporal-server/open-client.js');
  const connection = await connectionFinding(setup, address);
  if (connection !== null) return [connection];
  // A missing key of the embedded server must not be created here.
  const opened = await openClient({ ...config, encrypts: null }, env, address, '10s');
  try {
    const { client } = opened;
    const ask = <T>(work: () => Promise<T>) => client.withDeadline(Date.now() + ANSWER_MS, work);
    const { namespace } = config;
    const info = await ask(() => client.workflowService.getSystemInfo({}));
    const server = ok(`Temporal ${info.serverVersion || 'of an unknown version'} answers at ${address}.`);
    try {
      await ask(() => client.workflowService.describeNamespace({ namespace }));
    } catch (error) {
      return [
        server,
        {
          ...namespaceFinding(config, address, reasonOf(wrapped(error), env.TEMPORAL_API_KEY), env),
          check: 'namespace',
        },
      ];
    }
    const queue = await queueFindings(client as Client, setup).catch((error: unknown) => [
      {
        ...warning(
          `The task queue ${config.taskQueue} was not checked: ${messageOf(error)}.`,
          'Run the same command again.',
        ),
        check: 'task-queue',
      },
    ]);
    return [server, { ...ok(`The namespace ${namespace} exists.`), check: 'namespace' }, ...queue];
  } finally {
    await opened.close();
  }
}

/** An error of gRPC as the cause of an error, as the client wraps others. */
const wrapped = (cause: unknown) => new Error(cause instanceof Error ? cause.message : String(cause), { cause });

function namespaceFinding(
  { namespace, temporalAddress }: RuntimeConfig,
  address: string,
  { code, reason }: { readonly code: number | null; readonly reason: string },
  env: Setup['env'],
): Found {
  const isCloud = Boolean(env.TEMPORAL_API_KEY) || /\.tmprl\.cloud|\.temporal\.io/.test(address);
  if (code !== NOT_FOUND) {
    const mend = 'Check TEMPORAL_NAMESPACE, and the rights of the login (TEMPORAL_API_KEY or the client certificate).';
    return problem(`The namespace ${namespace} cannot be read: ${reason}.`, mend);
  }
  const text = `Temporal at ${address} has no namespace ${namespace}.`;
  if (temporalAddress === null) return warning(text, 'The next command creates it.');
  if (isCloud) return problem(text, 'Correct TEMPORAL_NAMESPACE: in Temporal Cloud it has the form name.account.');
  return problem(
    text,
    'Correct TEMPORAL_NAMESPACE, or create the namespace:',
    `temporal operator namespace create --address ${shellWord(address)} --namespace ${shellWord(namespace)} --retention 168h`,
  );
}
