import { EventEmitter } from 'node:events';
import type { Client } from '@temporalio/client';
import { buildProgram } from '../../../src/cli/program.js';
import type { Context, ExitCode } from '../../../src/cli/shared/command.js';
import { watchInterrupts } from '../../../src/cli/shared/command.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { withFreeCalls } from '../../../src/worker/control/free-calls.js';
import type { Runtime } from '../../../src/worker/runtime/runtime.js';
import { checkOutput } from '../cli/check-output.js';
import { fakeRuntime } from '../cli/fake-runtime.js';
import { fakeTerminal } from '../cli/fake-terminal.js';
import { idleLimiter } from '../store/idle-limiter.js';

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
      const allow = async () => undefined;
      const workflows = async () => ({ client, config: { ...config, taskQueue }, shared: false, allow });
      const calls: Runtime['calls'] = (signal, work) => withFreeCalls(config, idleLimiter(), signal, work);
      return fakeRuntime({ clientOnly: 'folder', workflows, calls }).runtime;
    },
  };
  const run = async (): Promise<ExitCode> => {
    try {
      await program.parseAsync(['monitors', ...args], { from: 'user' });
      return await action(context);
    } catch (error) {
      const { message, exitCode } = failureOf(error);
      terminal.say(message);
      return exitCode;
    }
  };
  const code = await run();
  checkOutput(['monitors', ...args], out());
  return { code, out: out(), err: err() };
}
