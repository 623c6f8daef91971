import { userInfo } from 'node:os';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { MonitorControl } from '../../worker/control/monitor-control.js';
import type { Context, ExitCode } from './context.js';
import type { Session } from './session.js';
import { type AccessOptions, withAccess } from './with-access.js';

/** Flags of a command on monitors that override settings. */
export interface MonitorSettingFlags {
  readonly qps?: string;
  readonly into?: string;
}

/** Runs a command on monitors: `withAccess` with a `MonitorControl`. */
export async function withMonitors(
  context: Context,
  flags: MonitorSettingFlags,
  mistakes: readonly string[],
  work: (control: MonitorControl, session: Session, config: RuntimeConfig) => Promise<ExitCode>,
  options: AccessOptions = {},
): Promise<ExitCode> {
  const asMonitors = (access: WorkflowAccess, session: Session, config: RuntimeConfig) =>
    work(new MonitorControl(access, context.cwd), session, config);
  return withAccess(context, flags, mistakes, asMonitors, options);
}

/** Returns the name of the user for the audit. */
export function whoami({ env }: Pick<Context, 'env'>): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return env.USER || env.LOGNAME || 'unknown user';
  }
}
