import { exitCodeOfFailure } from '../core/exit-codes.js';
import { JobFailed, JobStopped, UsageError } from '../worker/runtime-types.js';
import { type ExitCode, exitCodes } from './context.js';
import { printable, printableLines } from './render/printable.js';

/** What is wrong with the system's own errors, in words; the path is added. */
const systemErrors: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file or folder',
  EACCES: 'Permission denied',
  EPERM: 'Permission denied',
  EROFS: 'The file system is read-only',
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EISDIR: 'This is a folder, not a file',
  ENOTDIR: 'A part of this path is a file, not a folder',
  EMFILE: 'Too many open files; raise the limit (ulimit -n)',
  EADDRINUSE: 'The port is in use',
};

/** An error as one clear sentence (several lines for several mistakes) and the exit code it means. */
export function failureText(error: unknown): { readonly text: string; readonly code: ExitCode } {
  if (error instanceof UsageError) return { text: printableLines(error.message), code: exitCodes.usage };
  // What is wrong with the input is told by whoever reads it, which is not ours to import.
  if (error instanceof Error && error.name === 'CsvError')
    return { text: printableLines(error.message), code: exitCodes.usage };
  const failed = exitCodeOfFailure(error);
  if (error instanceof JobFailed) return { text: printableLines(error.message), code: failed };
  if (error instanceof JobStopped)
    return { text: `Stopped (${printableLines(error.message)}). The same command resumes it.`, code: failed };
  if (!(error instanceof Error)) return { text: printable(String(error)), code: failed };
  const { code, path, port } = error as NodeJS.ErrnoException & { port?: number };
  const known = code === undefined ? undefined : systemErrors[code];
  const place = path ?? port;
  if (known) return { text: `${known}${place === undefined ? '' : `: ${printable(String(place))}`}.`, code: failed };
  return { text: printable(error.message || error.name), code: failed };
}

/** The stack and its causes, for `SEARCHFLOW_DEBUG=1`. */
export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const own = printableLines(error.stack ?? error.message);
  return error.cause === undefined
    ? own
    : `${own}\nCaused by ${stackText(error.cause) || printable(String(error.cause))}`;
}
