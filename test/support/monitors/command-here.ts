import { EventEmitter } from 'node:events';
import type { Client } from '@temporalio/client';
import { buildProgram } from '../../../src/cli/program.js';
import type { Context, ExitCode } from '../../../src/cli/shared/context.js';
import { failureText } from '../../../src/cli/shared/failure-text.js';
import { watchInterrupts } from '../../../src/cli/shared/signals.js';
import { fakeRuntime } from '../cli/fake-runtime.js';
import { fakeTerminal } from '../cli/fake-terminal.js';

/** The surroundings of a command: a service, a folder, and a Temporal server with a worker that others run. */
interface Surroundings {
  readonly url: string;
  readonly key: string;
  readonly cwd: string;
  /** Absent: there is no Temporal server, and the command can only refuse to run. */
  readonly temporal?: { readonly client: Client; readonly taskQueue: string };
}

/**
 * `searchflow monitors …` in this process, from its arguments to its exit code: a command in a process of its own takes seconds to start.
 */
export async function commandHere(
  args: readonly string[],
  { url, key, cwd, temporal }: Surroundings,
): Promise<{ readonly code: ExitCode; readonly out: string; readonly err: string }> {
  const env = { SEARCHFLOW_API_KEY: key, SEARCHFLOW_BASE_URL: url };
  const { terminal, out, err } = fakeTerminal({ env });
  let action: (context: Context) => Promise<ExitCode> = async () => 0;
  const program = buildProgram('0.0.0', (chosen) => {
    action = chosen;
  });
  const context: Context = {
    ...{ env, cwd, args, terminal },
    interrupts: watchInterrupts(new EventEmitter()),
    openRuntime: async (config) => {
      if (!temporal) return fakeRuntime().runtime;
      const { client, taskQueue } = temporal;
      const workflows = async () => ({
        client,
        config: { ...config, taskQueue },
        shared: false,
        allow: async () => undefined,
      });
      return fakeRuntime({ clientOnly: true, workflows }).runtime;
    },
  };
  const run = async (): Promise<ExitCode> => {
    try {
      await program.parseAsync(['monitors', ...args], { from: 'user' });
      return await action(context);
    } catch (error) {
      const { text, code } = failureText(error);
      terminal.say(text);
      return code;
    }
  };
  return { code: await run(), out: out(), err: err() };
}
