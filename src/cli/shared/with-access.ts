import { userInfo } from 'node:os';
import type { ConfigFlags } from '../../worker/config/config.js';
import type { WorkflowAccess } from '../../worker/config/runtime-types.js';
import type { FreeCall } from '../../worker/control/free-calls.js';
import type { MonitorControl } from '../../worker/control/monitor-control.js';
import { checkConnection, checkWarehouse } from './check-connection.js';
import type { Context, ExitCode } from './command.js';
import { type Session, settings, withRuntime } from './session.js';

export interface AccessOptions {
  readonly loads?: boolean;
  readonly owns?: boolean;
  readonly detached?: boolean;
}

/**
 * Runs a command that starts workflows, with a Temporal server, a worker here or elsewhere, and a sandbox if there is no key.
 * `loads`: first checks the command's warehouse. `owns`: `JobWork.own` runs the worker here. `detached`: the workers run it.
 */
export async function withAccess(
  context: Context,
  flags: ConfigFlags,
  mistakes: readonly string[],
  work: (access: WorkflowAccess, session: Session) => Promise<ExitCode | undefined>,
  { loads = false, owns = false, detached = false }: AccessOptions = {},
): Promise<ExitCode> {
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: !detached }, async (session) => {
    if (detached) await (await session.runtime.work()).checkDetached();
    await checkConnection(config);
    if (loads) await checkWarehouse(config, flags.into);
    session.working();
    return work(await session.runtime.workflows({ worker: !owns }), session);
  });
}

/** Runs a command that makes free calls to the service, without Temporal. */
export async function withCalls(
  context: Context,
  flags: ConfigFlags,
  mistakes: readonly string[],
  work: (call: FreeCall) => Promise<ExitCode | undefined>,
): Promise<ExitCode> {
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: true }, async ({ runtime, stopped }) => {
    await checkConnection(config);
    return runtime.calls(stopped, work);
  });
}

export async function withMonitors(
  context: Context,
  flags: ConfigFlags,
  mistakes: readonly string[],
  work: (control: MonitorControl, session: Session) => Promise<ExitCode | undefined>,
  options: AccessOptions = {},
): Promise<ExitCode> {
  const asMonitors = async (access: WorkflowAccess, session: Session) => {
    const { MonitorControl } = await import('../../worker/control/monitor-control.js');
    return work(new MonitorControl(access, context.cwd), session);
  };
  return withAccess(context, flags, mistakes, asMonitors, options);
}

export function whoami({ env }: Pick<Context, 'env'>): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return env.USER || env.LOGNAME || 'unknown user';
  }
}
