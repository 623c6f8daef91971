import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { findTemporalBinary } from '../../src/worker/temporal-binary.js';

/** A real Temporal server in memory; `settings` are its dynamic configuration, such as `frontend.x=1`. */
export async function startTemporal(...settings: string[]): Promise<TestWorkflowEnvironment> {
  const silent = new DefaultLogger('ERROR', () => undefined);
  Runtime.install({ logger: silent, telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } });
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
