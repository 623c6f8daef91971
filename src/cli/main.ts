#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { buildProgram, saidAlready } from './program.js';
import { type Context, type ExitCode, exitCodes } from './shared/context.js';
import { failureText, stackText } from './shared/failure-text.js';
import { watchInterrupts } from './shared/signals.js';
import { openTerminal, scrubber } from './shared/terminal.js';

const { env, argv, stdin, stdout, stderr } = process;
const terminal = openTerminal({ env, stdin, stdout, stderr });

function report(error: unknown): ExitCode {
  const { text, code } = failureText(error);
  terminal.show('');
  terminal.say(terminal.colors.red(text));
  if (env.SEARCHFLOW_DEBUG === '1') terminal.say(stackText(error));
  return code;
}

async function run(args: readonly string[]): Promise<ExitCode> {
  let action: ((context: Context) => Promise<ExitCode>) | null = null;
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const scrub = scrubber(env);
  const program = buildProgram(version, (chosen) => {
    action = chosen;
  }).configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(scrub(text)),
  });
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    const code = saidAlready(error);
    if (code !== null) return code;
    throw error;
  }
  if (action === null) return exitCodes.ok;
  const interrupts = watchInterrupts(process);
  const context: Context = {
    env,
    cwd: process.cwd(),
    args,
    terminal,
    interrupts,
    openRuntime: async (config) => (await import('../worker/runtime.js')).openRuntime(config),
  };
  return (action as (context: Context) => Promise<ExitCode>)(context);
}

// A reader that left (`… | head`) is no failure of ours; data that could not be written for another reason is.
let lost: Error | null = null;
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') lost = error;
});
// Nobody is there to be told.
stderr.on('error', () => undefined);
// What nobody caught still must not print a key: Node's own report would show message and stack as they are.
process.on('uncaughtException', (error) => process.exit(report(error) || exitCodes.failed));
process.on('unhandledRejection', (error) => process.exit(report(error) || exitCodes.failed));

const code = await run(argv.slice(2)).catch(report);
// Native parts may keep the process alive after everything was closed; what was written must be out first.
stdout.write('', () => stderr.write('', () => process.exit(lost === null ? code : report(lost))));
