import { EventEmitter } from 'node:events';
import type { Client } from '@temporalio/client';
import { buildProgram } from '../../../src/cli/program.js';
import type { Context, ExitCode } from '../../../src/cli/shared/command.js';
import { watchInterrupts } from '../../../src/cli/shared/command.js';
import { failureText } from '../../../src/cli/shared/failure-text.js';
import { checkOutput } from '../cli/check-output.js';
import { fakeRuntime } from '../cli/fake-runtime.js';
import { fakeTerminal } from '../cli/fake-terminal.js';

/** The parts that a command needs: a service, a folder, and a Temporal server with a worker. */
interface Surroundings {
  readonly url: string;
  readonly key: string;
  readonly cwd: string;
  /** Without this field there is no Temporal server, so the command can only be refused. */
  readonly temporal?: { readonly client: Client; readonly taskQueue: string };
}

/** Runs `searchflow monitors …` in this process, from its arguments to its exit code, because a new process would take seconds to start. */
export async function commandHere(
  args: readonly string[],
  { url, key, cwd, temporal }: Surroundings,
): Promise<{ readonly code: ExitCode; readonly out: string; readonly err: string }> {
  const env = { SEARCHFLOW_API_KEY: key, SEARCHFLOW_BASE_URL: url };
  const { terminal, out, err } = fakeTerminal({ env, flags: { json: args.includes('--json') } });
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
      return fakeRuntime({ clientOnly: 'folder', workflows }).runtime;
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
  const code = await run();
  checkOutput(['monitors', ...args], out());
  return { code, out: out(), err: err() };
}
