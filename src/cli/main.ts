#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { UsageError } from '../core/errors/coded-error.js';
import { inPackage } from '../files/package-root.js';
import { buildProgram } from './program.js';
import { loadSettingsFile } from './set-up/settings-file.js';
import { type Context, type ExitCode, exitCodes, watchInterrupts } from './shared/command.js';
import { asksForJson, failureOf, fixText, stackText } from './shared/failure-text.js';
import { type OutputFlags, openTerminal, scrubber } from './shared/terminal.js';

const { env, argv, stdin, stdout, stderr } = process;
// Secrets of the file are redacted, too, so the file is read first.
const wrongFile = loadSettingsFile(argv.slice(2), env, process.cwd());
const inJson = asksForJson(argv.slice(2));
const words = argv.slice(2);
let terminal = openTerminal({ args: words, env, stdin, stdout, stderr });

/** Reports an error. commander has reported its own already, except in JSON, and has printed the help and the version. */
function report(error: unknown): ExitCode {
  const isParsing = error instanceof CommanderError;
  if (isParsing && error.exitCode === 0) return exitCodes.ok;
  const failure = failureOf(error);
  terminal.show('');
  if (inJson) terminal.sayJson(failure);
  else {
    if (!isParsing) terminal.say(terminal.colors.red(failure.message));
    terminal.say(terminal.colors.dim(fixText(failure.code)));
  }
  if (env.SEARCHFLOW_DEBUG === '1' && !isParsing) terminal.say(stackText(error));
  return failure.exitCode;
}

async function run(args: readonly string[]): Promise<ExitCode> {
  let action: ((context: Context) => Promise<ExitCode>) | null = null;
  let flags: OutputFlags = {};
  const { version } = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')) as {
    version: string;
  };
  const scrub = scrubber(env, args);
  const choose = (chosen: (context: Context) => Promise<ExitCode>, typed: OutputFlags) => {
    action = chosen;
    flags = typed;
  };
  const program = buildProgram(version, choose, {
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => {
      if (!inJson) stderr.write(scrub(text));
    },
  });
  await program.parseAsync([...args], { from: 'user' });
  if (action === null) return exitCodes.ok;
  terminal = openTerminal({ args: words, env, stdin, stdout, stderr, flags });
  if (wrongFile !== null) throw new UsageError('setting-invalid', wrongFile);
  const context: Context = {
    env,
    cwd: process.cwd(),
    args,
    terminal,
    interrupts: watchInterrupts(process),
    openRuntime: async (config) => (await import('../worker/runtime/runtime.js')).openRuntime(config),
  };
  return (action as (context: Context) => Promise<ExitCode>)(context);
}

// A closed pipe (`… | head`) is not a failure. Any other failed write to stdout is a failure.
let lost: Error | null = null;
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') lost = error;
});
// If stderr fails, the failure cannot be reported anywhere.
stderr.on('error', () => undefined);
// Uncaught errors are reported here, because Node's own report would print message and stack unredacted.
process.on('uncaughtException', (error) => process.exit(report(error) || exitCodes.failed));
process.on('unhandledRejection', (error) => process.exit(report(error) || exitCodes.failed));

const code = await run(argv.slice(2)).catch(report);
// The process exits explicitly, after its output is flushed, because native modules may keep the process alive.
stdout.write('', () => stderr.write('', end));

function end(): void {
  process.exit(lost === null ? code : report(lost));
}
