import { CommanderError } from 'commander';
import type { Output } from '../../api/command-outputs.js';
import { codeOfError } from '../../core/errors/code-of.js';
import { type ErrorCode, errorFixes } from '../../core/errors/registry.js';
import { type ExitCode, exitCodeOfFailure, exitCodeOfUsage, exitCodes } from '../../core/processes/exit-codes.js';
import { nextText, type Said, toContinue } from '../../core/rows/pause.js';
import { JobFailed, JobStopped, UsageError } from '../../worker/config/runtime-types.js';
import { printable, printableLines, sentence } from '../text.js';

const systemErrors: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or folder',
  EACCES: 'Permission denied',
  EPERM: 'Permission denied',
  EROFS: 'The file system is read-only',
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EISDIR: 'This path is a folder, not a file',
  ENOTDIR: 'A part of this path is a file, not a folder',
  EMFILE: 'Too many open files; raise the limit (ulimit -n)',
  EADDRINUSE: 'The port is in use',
};

/** Error codes by the codes of commander; the others are about values. */
const parseCodes: Readonly<Record<string, ErrorCode>> = {
  'commander.unknownCommand': 'unknown-command',
  'commander.unknownOption': 'unknown-option',
  'commander.missingArgument': 'missing-argument',
  'commander.optionMissingArgument': 'missing-argument',
  'commander.missingMandatoryOptionValue': 'missing-argument',
  'commander.excessArguments': 'too-many-arguments',
  'commander.conflictingOption': 'option-unusable',
  // A group of commands without the name of one: the help was printed.
  'commander.help': 'missing-argument',
};

/** Returns an error as `--json` prints it. The message has one line for each mistake. */
export function failureOf(error: unknown) {
  if (error instanceof CommanderError) {
    const lines = error.message.replace(/^error: /, '').split('\n');
    const message = lines.map((line) => printable(line, 2000)).join('\n');
    return failure(message, parseCodes[error.code] ?? 'invalid-argument', exitCodes.usage);
  }
  const code = codeOfError(error);
  return failure(textOf(error), code, isWrongUse(error) ? exitCodeOfUsage(code) : exitCodeOfFailure(error));
}

const failure = (message: string, code: ErrorCode, exitCode: ExitCode) =>
  ({ kind: 'error', code, message, fix: errorFixes[code], exitCode }) as const satisfies Output<'failure'>;

/** `CsvError` belongs to a folder that the command must not import. */
const isWrongUse = (error: unknown): error is Error =>
  error instanceof UsageError || (error instanceof Error && error.name === 'CsvError');

function textOf(error: unknown): string {
  if (isWrongUse(error)) return printableLines(error.message);
  if (error instanceof JobFailed)
    return printableLines(error.job === null ? error.message : withNextStep(error, error.job));
  if (error instanceof JobStopped)
    return printableLines(
      error.job === null
        ? `Stopped (${error.message}). Run the same command to resume.`
        : withNextStep({ message: `Stopped: ${error.message}` }, error.job),
    );
  if (!(error instanceof Error)) return printable(String(error));
  const missing = missingPackage(error);
  if (missing !== null) return `The package ${missing} is missing. To install it:\n  npm install ${peers.join(' ')}`;
  const { code = '', path, port } = error as NodeJS.ErrnoException & { port?: number };
  const where = path ?? port;
  if (systemErrors[code]) return `${systemErrors[code]}${where === undefined ? '' : `: ${printable(String(where))}`}.`;
  return printable(error.message || error.name);
}

/** Returns why a job of rows ended, with its next step. */
function withNextStep({ message, next }: Said<string>, job: string): string {
  const step = next ?? toContinue(job);
  const kept = step.command === null ? ' ' : '\nPaid results are kept. ';
  return `${sentence(message)}${kept}${nextText(step)}`;
}

const peers = ['activity', 'client', 'common', 'envconfig', 'plugin', 'worker', 'workflow'].map(
  (name) => `@temporalio/${name}`,
);

function missingPackage(error: Error): string | null {
  // `import` finds no package, `require` finds no module.
  if (!/^(ERR_)?MODULE_NOT_FOUND$/.test((error as NodeJS.ErrnoException).code ?? '')) return null;
  const name = /Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1] ?? null;
  return name !== null && peers.includes(name) ? name : null;
}

/** Returns the stack with its causes, for `SEARCHFLOW_DEBUG=1`. */
export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const own = printableLines(error.stack ?? error.message);
  return error.cause === undefined
    ? own
    : `${own}\nCaused by ${stackText(error.cause) || printable(String(error.cause))}`;
}

/** Whether the words of a command line ask for JSON. Read before the command line is parsed, which may fail. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return (end < 0 ? words : words.slice(0, end)).includes('--json');
}

/** The last line of the text of an error: its code, and what to do. */
export const fixText = (code: ErrorCode): string => `${code}: ${errorFixes[code]}`;
