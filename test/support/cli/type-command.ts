import type { Client } from '@temporalio/client';
import { CommanderError } from 'commander';
import { buildProgram } from '../../../src/cli/program.js';
import type { Context } from '../../../src/cli/shared/command.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import type { OutputFlags } from '../../../src/cli/shared/terminal.js';
import type { ErrorCode } from '../../../src/core/errors/registry.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { withFreeCalls } from '../../../src/worker/control/free-calls.js';
import type { Folder } from '../jobs/folder.js';
import { idleLimiter } from '../store/idle-limiter.js';
import { checkOutput } from './check-output.js';
import type { RuntimeAnswers } from './fake-runtime.js';
import { fakeContext, fakeRuntime } from './fake-runtime.js';

/** The methods of a runtime whose commands work with this server and this configuration. */
export function workingWith(client: Client, built: ReturnType<Folder['config']>): RuntimeAnswers {
  const config = built as unknown as RuntimeConfig;
  return {
    clientOnly: 'folder',
    workflows: async () => ({ client, config, shared: false, allow: async () => undefined }),
    calls: (signal, work) => withFreeCalls(config, idleLimiter(), signal, work),
  };
}

type Action = (context: Context) => Promise<number>;

/** The words of a command line; a word in single quotes may have spaces. */
export const wordsOf = (line: string): string[] =>
  line.match(/'[^']*'|\S+/g)?.map((word) => word.replace(/^'|'$/g, '')) ?? [];

/**
 * Runs a command line as if a person had typed it in a folder. The runtime answers from memory; `changes` replaces some of its methods.
 * `usage` has what the parser of the command line wrote.
 */
export async function typeCommand(
  cwd: string,
  line: string | readonly string[],
  changes: RuntimeAnswers = {},
  env: Readonly<Record<string, string>> = {},
  tty = false,
) {
  const words = typeof line === 'string' ? wordsOf(line) : [...line];
  let action: Action = async () => 0;
  let flags: OutputFlags = {};
  const choose = (chosen: Action, typed: OutputFlags) => {
    action = chosen;
    flags = typed;
  };
  let usage = '';
  const writeErr = (text: string) => {
    usage += text;
  };
  const program = buildProgram('0.0.0', choose as Parameters<typeof buildProgram>[1], {
    writeErr,
    writeOut: () => undefined,
  });
  const { runtime, asked, calls } = fakeRuntime(changes);
  let shown: Pick<ReturnType<typeof fakeContext>, 'out' | 'err'> = { out: () => '', err: () => '' };
  let config: RuntimeConfig | undefined;
  const openRuntime = async (opened: RuntimeConfig) => {
    config = opened;
    return runtime;
  };
  const run = async () => {
    const fake = fakeContext(runtime, { tty, flags });
    shown = fake;
    const { context } = fake;
    return action({ ...context, args: words, cwd, openRuntime, env: { ...context.env, ...env } });
  };
  let refusal = '';
  let errorCode: ErrorCode | null = null;
  const code = await program
    .parseAsync(words, { from: 'user' })
    .then(run)
    .catch((error: unknown) => {
      const failure = failureOf(error);
      refusal = error instanceof CommanderError ? error.message.replaceAll('\n', ' ') : failure.message;
      errorCode = failure.code;
      return error instanceof CommanderError && error.exitCode === 0 ? 0 : failure.exitCode;
    });
  checkOutput(words, shown.out());
  return { code, out: shown.out(), err: shown.err(), refusal, errorCode, usage, asked, calls, config };
}
