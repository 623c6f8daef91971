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

/** What came of the last command line that was parsed. */
const last: { action: Action; flags: OutputFlags; usage: string } = { action: async () => 0, flags: {}, usage: '' };
/** One program for all command lines: each parse begins with the state after the build. */
const program = buildProgram('0.0.0', (action, flags) => Object.assign(last, { action, flags: { ...flags } }), {
  writeErr: (text) => {
    last.usage += text;
  },
  writeOut: () => undefined,
});

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
  Object.assign(last, { action: async () => 0, flags: {}, usage: '' });
  const parsed = program.parseAsync(words, { from: 'user' });
  // No command line waits for anything before its action is chosen, so that the next one may be parsed now.
  const { action, flags, usage } = last;
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
  const code = await parsed.then(run).catch((error: unknown) => {
    const failure = failureOf(error);
    refusal = error instanceof CommanderError ? error.message.replaceAll('\n', ' ') : failure.message;
    errorCode = failure.code;
    return error instanceof CommanderError && error.exitCode === 0 ? 0 : failure.exitCode;
  });
  checkOutput(words, shown.out());
  return { code, out: shown.out(), err: shown.err(), refusal, errorCode, usage, asked, calls, config };
}
