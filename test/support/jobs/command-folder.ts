import { onTestFinished } from 'vitest';
import { type Running, startCommand } from '../cli/command.js';
import { Folder } from './folder.js';
import { killAllOf } from './processes.js';

interface Options {
  readonly key?: string;
  /** The server that the commands use; without it they start one of their own. */
  readonly temporal?: { readonly address: string; readonly namespace?: string };
  /** Further variables of all commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** The hook of a test that runs in parallel with others. */
  readonly atEnd?: typeof onTestFinished;
}

/**
 * A folder in which commands work with a service. After the test their processes are killed, the service is closed, and the folder is
 * removed.
 */
export function commandFolder(
  service: { readonly url: string; close(): Promise<unknown> },
  { key = 'key-of-the-tests', temporal, env: own = {}, atEnd = onTestFinished }: Options = {},
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
    ...own,
  };
  const started: Running[] = [];
  atEnd(async () => {
    if (process.platform === 'linux') killAllOf(folder.stateDir);
    for (const { child } of started) child.kill('SIGKILL');
    await Promise.all(started.map(({ ended }) => ended));
    await service.close();
    folder.remove();
  });
  const start = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Running => {
    const running = startCommand(args, { cwd: folder.dir, env: { ...env, ...more } });
    started.push(running);
    return running;
  };
  return {
    folder,
    env,
    /** The output of all commands. */
    said: () => started.map((one) => one.out() + one.err()).join('\n---\n'),
    start,
    /** Runs a command to its end. */
    async run(args: readonly string[], more?: Readonly<Record<string, string>>) {
      const running = start(args, more);
      return { code: await running.ended, out: running.out(), err: running.err() };
    },
  };
}
