import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { findTemporalBinary } from '../../src/worker/temporal-binary.js';

/** Keeps the SDK's log out of the tests' output: failures here are meant. Once a process, before any worker. */
export function silence(): void {
  const logger = new DefaultLogger('ERROR', () => undefined);
  Runtime.install({ logger, telemetryOptions: { logging: { forward: {}, filter: 'OFF' } } });
}

/** A real Temporal server in memory; `settings` are its dynamic configuration, such as `frontend.x=1`. */
export async function startTemporal(...settings: string[]): Promise<TestWorkflowEnvironment> {
  silence();
  const { path } = await findTemporalBinary({
    env: process.env,
    say: () => undefined,
    stateDir: '.searchflow',
  });
  const extraArgs = ['system.enableActivityEagerExecution=true', ...settings].flatMap((setting) => [
    '--dynamic-config-value',
    setting,
  ]);
  return TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'existing-path', path }, extraArgs } });
}
