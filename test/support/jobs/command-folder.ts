import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { onTestFinished } from 'vitest';
import { type Running, startCommand } from '../cli/command.js';
import { Folder } from './folder.js';
import { killAllOf } from './processes.js';

interface Options {
  readonly key?: string;
  /** The server that the commands use; without it they start one of their own. */
  readonly temporal?: TestWorkflowEnvironment;
}

/**
 * A folder in which commands work with a service. After the test their processes are killed, the service is closed, and the folder is
 * removed.
 */
export function commandFolder(
  service: { readonly url: string; close(): Promise<unknown> },
  { key = 'key-of-the-tests', temporal }: Options = {},
) {
  const folder = new Folder();
  const env: Record<string, string> = {
    SEARCHFLOW_API_KEY: key,
    SEARCHFLOW_BASE_URL: service.url,
    SEARCHFLOW_STATE_DIR: folder.stateDir,
    XDG_STATE_HOME: folder.dir,
    ...(temporal && {
      SEARCHFLOW_TASK_QUEUE: folder.dir,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace as string,
    }),
  };
  const started: Running[] = [];
  onTestFinished(async () => {
    if (process.platform === 'linux') killAllOf(folder.stateDir);
    for (const { child } of started) child.kill('SIGKILL');
    await Promise.all(started.map(({ ended }) => ended));
    await service.close();
    folder.remove();
  });
  return {
    folder,
    env,
    /** The output of all commands. */
    said: () => started.map((one) => one.out() + one.err()).join('\n---\n'),
    start(args: readonly string[], more: Readonly<Record<string, string>> = {}): Running {
      const running = startCommand(args, { cwd: folder.dir, env: { ...env, ...more } });
      started.push(running);
      return running;
    },
  };
}
