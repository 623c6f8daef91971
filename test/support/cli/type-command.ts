import { buildProgram, saidAlready } from '../../../src/cli/program.js';
import type { Context } from '../../../src/cli/shared/context.js';
import { failureText } from '../../../src/cli/shared/failure-text.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import type { RuntimeAnswers } from './fake-runtime.js';
import { fakeContext, fakeRuntime } from './fake-runtime.js';

type Action = (context: Context) => Promise<number>;

/** Runs a command line as if a person had typed it in a folder. The runtime answers from memory; `changes` replaces some of its methods. */
export async function typeCommand(
  cwd: string,
  line: string,
  changes: RuntimeAnswers = {},
  env: Readonly<Record<string, string>> = {},
) {
  const words = line.match(/'[^']*'|\S+/g)?.map((word) => word.replace(/^'|'$/g, '')) ?? [];
  let action: Action = async () => 0;
  const choose = (chosen: Action) => {
    action = chosen;
  };
  const program = buildProgram('0.0.0', choose as Parameters<typeof buildProgram>[1], { writeErr: () => undefined });
  const { runtime, asked, calls } = fakeRuntime(changes);
  const { context, out, err } = fakeContext(runtime);
  let config: RuntimeConfig | undefined;
  const openRuntime = async (opened: RuntimeConfig) => {
    config = opened;
    return runtime;
  };
  let refusal = '';
  const code = await program
    .parseAsync(words, { from: 'user' })
    .then(() => action({ ...context, args: words, cwd, openRuntime, env: { ...context.env, ...env } }))
    .catch((error: unknown) => {
      const { text, code: failed } = failureText(error);
      refusal = text;
      return saidAlready(error) ?? failed;
    });
  return { code, out: out(), err: err(), refusal, asked, calls, config };
}
