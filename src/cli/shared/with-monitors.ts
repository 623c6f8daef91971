import { userInfo } from 'node:os';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { MonitorControl } from '../../worker/control/monitor-control.js';
import type { Context, ExitCode } from './context.js';
import type { Session } from './session.js';
import { withAccess } from './with-access.js';

/** What the settings of a command on monitors may name. */
export interface MonitorSettingFlags {
  readonly qps?: string;
  readonly into?: string;
}

/** Runs a command on monitors: with a server, a worker here or elsewhere, and a sandbox where there is no key. */
export async function withMonitors(
  context: Context,
  flags: MonitorSettingFlags,
  mistakes: readonly string[],
  work: (control: MonitorControl, session: Session, config: RuntimeConfig) => Promise<ExitCode>,
  options: { readonly loads?: boolean; readonly owns?: boolean } = {},
): Promise<ExitCode> {
  const { qps, into } = flags;
  const named = { ...(qps === undefined ? {} : { qps }), ...(into === undefined ? {} : { into }) };
  const asMonitors = (access: WorkflowAccess, session: Session, config: RuntimeConfig) =>
    work(new MonitorControl(access, context.cwd), session, config);
  return withAccess(context, named, mistakes, asMonitors, options);
}

/** Who types, for the audit. */
export function whoami({ env }: Pick<Context, 'env'>): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without a name, as in a container.
    return env.USER || env.LOGNAME || 'somebody';
  }
}
