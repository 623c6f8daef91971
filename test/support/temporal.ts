import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { expect, inject } from 'vitest';
import { findTemporalBinary } from '../../src/worker/temporal-server/binary.js';
import { retriesUntilClose } from '../../src/worker/temporal-server/retries-until-close.js';
import { ofFile } from './of-file.js';

const silenced = Symbol.for('searchflow.tests.silenced');

/**
 * Keeps the SDK's log out of the output of tests, because failures here are intended. Test files may share a process, which has only one
 * runtime, so this happens once.
 */
export function silence(): void {
  if (Reflect.has(globalThis, silenced)) return;
  Reflect.set(globalThis, silenced, true);
  const logger = new DefaultLogger('ERROR', () => undefined);
  Runtime.install({ logger, telemetryOptions: { logging: { forward: {}, filter: 'OFF' } } });
}

/** The namespace that a test file has on the run's Temporal server. */
export function namespaceOf(file: string): string {
  const hash = createHash('sha256').update(file).digest('hex').slice(0, 6);
  return `${basename(dirname(file))}-${basename(file, '.test.ts')}-${hash}`;
}

/** The namespace of the current test file. */
export function fileNamespace(): string {
  return namespaceOf(expect.getState().testPath as string);
}

/** Connects to the run's Temporal server, in the namespace of this file. */
export async function openTemporal(): Promise<TestWorkflowEnvironment> {
  silence();
  return withoutLateRetries(
    await TestWorkflowEnvironment.createFromExistingServer({
      address: inject('temporalAddress'),
      namespace: fileNamespace(),
    }),
  );
}

/** The run's Temporal server in the namespace of this file: connected before its tests, closed after them. */
export function temporalOfFile(): TestWorkflowEnvironment {
  return ofFile(openTemporal);
}

/** Lets no call be retried after the connection was closed: the failure of such a retry would fail the whole run. */
function withoutLateRetries(environment: TestWorkflowEnvironment): TestWorkflowEnvironment {
  const { connection } = environment;
  const retries = retriesUntilClose();
  connection.options.interceptors?.splice(0, Number.POSITIVE_INFINITY, retries.interceptor);
  const close = connection.close.bind(connection);
  connection.close = () => retries.close(close);
  return environment;
}

/** Starts a separate Temporal server, in memory. `settings`: its dynamic configuration, such as `frontend.x=1`. */
export async function startOwnTemporal(
  settings: readonly string[] = [],
  extra: readonly string[] = [],
): Promise<TestWorkflowEnvironment> {
  silence();
  const { path } = await findTemporalBinary({ env: process.env, say: () => undefined });
  const dynamic = ['system.enableActivityEagerExecution=true', ...settings];
  const extraArgs = [...extra, ...dynamic.flatMap((setting) => ['--dynamic-config-value', setting])];
  return withoutLateRetries(
    await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path }, extraArgs } }),
  );
}
