import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '../../core/errors/coded-error.js';
import { UsageError } from '../config/runtime-types.js';
import type { TemporalBinary } from './download.js';
import { bareEnvironment } from './server-files.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export const NOT_INSTALLED = 'No Temporal server is installed on this machine';

const ANSWER_MS = 20_000;
/** Waits longer than this are reported. */
const SAID_AFTER_MS = 5000;

const program = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Arguments of {@link findTemporalBinary}. */
export interface BinaryLookup {
  readonly env: Environment;
  readonly say: (sentence: string) => void;
  /** Folder of installed programs; default: the user's cache folder on this platform. */
  readonly cacheDir?: string;
  /** Longest wait for the answer to `--version`, in ms; default 20 s. */
  readonly answerMs?: number;
  /** Whether a missing program may be installed; default true. */
  readonly allowDownload?: boolean;
}

/**
 * Finds Temporal's command line program, which contains the server: `TEMPORAL_CLI`, `temporal` on PATH, the user's cache, Go's folders. If
 * none of these has the program, it is installed once into the user's cache, built by Go or downloaded. State folders are not searched,
 * because they may come from another user. Throws a {@link UsageError} that lists all of these ways.
 */
export async function findTemporalBinary(lookup: BinaryLookup): Promise<TemporalBinary> {
  const { env, say } = lookup;
  if (env.TEMPORAL_CLI) return named(resolve(env.TEMPORAL_CLI), lookup);
  const cache = lookup.cacheDir ?? programsOf(env);
  const found = await firstOf(foldersOf(env, cache), lookup);
  if (found !== null) return found;
  const ways = `Do one of these:\n${waysOut(env, cache)}`;
  if (lookup.allowDownload === false) throw new UsageError('temporal-not-installed', `${NOT_INSTALLED}. ${ways}`);
  try {
    const { installTemporal } = await import('./download.js');
    return await installTemporal({ dir: cache, program, env, say, check: checkBinary });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError('temporal-not-installed', `The Temporal server cannot be installed: ${problem}. ${ways}`);
  }
}

/** Whether {@link findTemporalBinary} finds a file to try, and need not install the program. Runs nothing. */
export const hasTemporalFile = (env: Environment): boolean =>
  Boolean(env.TEMPORAL_CLI) || foldersOf(env, programsOf(env)).some((dir) => isFile(join(dir, program)));

const foldersOf = (env: Environment, cache: string) => [...pathDirs(env), cache, ...goDirs(env)];
const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/**
 * The program at this path if it runs and is Temporal's, else null. The path may lead to any program, so its environment has no key of
 * ours. Throws if the program does not answer in time, which is no mistake in the configuration.
 */
export async function checkBinary(
  path: string,
  { say = () => undefined, answerMs = ANSWER_MS }: Partial<Pick<BinaryLookup, 'say' | 'answerMs'>> = {},
): Promise<TemporalBinary | null> {
  const waiting = setTimeout(() => say(`Waiting for ${path} --version to answer …`), SAID_AFTER_MS);
  try {
    accessSync(path, constants.X_OK);
    if (!statSync(path).isFile()) return null;
    const env = bareEnvironment(process.env);
    // SIGKILL is used, because a suspended process reacts to no other signal.
    const limits = { timeout: answerMs, killSignal: 'SIGKILL', windowsHide: true } as const;
    const { stdout } = await promisify(execFile)(path, ['--version'], { env, ...limits });
    return /^temporal version/.test(stdout) ? { path, version: stdout.trim() } : null;
  } catch (error) {
    if (!(error as { readonly killed?: boolean }).killed) return null;
    throw new CodedError(
      'temporal-not-installed',
      `${path} --version did not answer within ${answerMs / 1000} s. The program is stopped, or this machine is busy. Run the same command again`,
    );
  } finally {
    clearTimeout(waiting);
  }
}

async function named(path: string, lookup: BinaryLookup): Promise<TemporalBinary> {
  const found = await checkBinary(path, lookup);
  if (found === null)
    throw new UsageError('temporal-not-installed', `TEMPORAL_CLI: ${path} is not Temporal's program, or does not run.`);
  return found;
}

async function firstOf(dirs: readonly string[], lookup: BinaryLookup): Promise<TemporalBinary | null> {
  let silent: unknown = null;
  for (const dir of new Set(dirs)) {
    const path = join(dir, program);
    if (!isFile(path)) continue;
    try {
      const found = await checkBinary(path, lookup);
      if (found !== null) return found;
      lookup.say(`Ignoring ${path}: it is not Temporal's program, or does not run.`);
    } catch (error) {
      silent ??= error;
    }
  }
  // If a program was found but did not answer in time, no other program is installed.
  if (silent !== null) throw silent;
  return null;
}

const pathDirs = (env: Environment) => (env.PATH ?? env.Path ?? '').split(delimiter).filter(isAbsolute);

function goDirs(env: Environment): string[] {
  const paths = (env.GOPATH || join(homeOf(env), 'go')).split(delimiter);
  return [env.GOBIN ?? '', ...paths.map((path) => join(path, 'bin'))].filter(isAbsolute);
}

const programsOf = (env: Environment) => join(userCache(env), 'bin');

/** The ways to a Temporal server, a line for each. */
export function waysOut(env: Environment, cache = programsOf(env)): string {
  return [
    '- set TEMPORAL_ADDRESS=host:port to the address of a running Temporal server;',
    "- set TEMPORAL_CLI to the path of Temporal's program (https://docs.temporal.io/cli);",
    '- put the program `temporal` on PATH;',
    `- put the program into ${cache};`,
    '- put Go on PATH, with access to its modules, to build it;',
    '- allow access to https://temporal.download, to download it.',
  ].join('\n');
}

const homeOf = (env: Environment): string => env.HOME || env.USERPROFILE || homedir();

/** The user's folder for files that can be made again, on this platform. */
function userCache(env: Environment): string {
  const { platform } = process;
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'searchflow');
  if (platform === 'darwin') return join(homeOf(env), 'Library', 'Caches', 'searchflow');
  // By the XDG rules a relative path in the variable is ignored.
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(homeOf(env), '.cache'), 'searchflow');
}
