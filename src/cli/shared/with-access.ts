import type { ConfigFlags } from '../../worker/config/config.js';
import type { RuntimeConfig, WorkflowAccess } from '../../worker/config/runtime-types.js';
import { checkConnection, checkWarehouse } from './check-connection.js';
import type { Context, ExitCode } from './context.js';
import { type Session, withRuntime } from './session.js';
import { settings } from './settings.js';

export interface AccessOptions {
  readonly loads?: boolean;
  readonly owns?: boolean;
  readonly detached?: boolean;
}

/**
 * Runs a command that starts workflows. The command gets a Temporal server, a worker here or elsewhere, and a sandbox if
 * there is no key. `loads`: first checks that the command's warehouse answers. `owns`: the command runs the worker itself,
 * after `Runtime.own`. `detached`: the workers run it.
 */
export async function withAccess(
  context: Context,
  flags: ConfigFlags,
  mistakes: readonly string[],
  work: (access: WorkflowAccess, session: Session, config: RuntimeConfig) => Promise<ExitCode>,
  { loads = false, owns = false, detached = false }: AccessOptions = {},
): Promise<ExitCode> {
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: !detached }, async (session) => {
    if (detached) await session.runtime.work.checkDetached();
    await checkConnection(config);
    if (loads) await checkWarehouse(config, flags.into);
    session.working();
    return work(await session.runtime.workflows({ worker: !owns }), session, config);
  });
}
