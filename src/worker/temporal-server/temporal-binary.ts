import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../config/runtime-types.js';
import { bareEnvironment } from './server-process.js';
import { installTemporal, type TemporalBinary } from './temporal-install.js';

type Environment = Readonly<Record<string, string | undefined>>;

const ANSWER_MS = 20_000;
/** A wait that is longer than this is told. */
const SAID_AFTER_MS = 5000;

const program = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

export interface BinaryLookup {
  readonly env: Environment;
  readonly say: (sentence: string) => void;
  /** The user's cache, which later clones find; by default where the platform keeps caches. */
  readonly cacheDir?: string;
  /** How long a program may take to say which one it is, in ms; 20 s by default. */
  readonly answerMs?: number;
  /** Whether it may be installed where it isn't found; true by default. */
  readonly allowDownload?: boolean;
}

/**
 * Finds Temporal's command line program, which holds the server: `TEMPORAL_CLI`, `temporal` on PATH, the user's cache, Go's folders;
 * else it is installed into the user's cache, once, by Go or by download, whichever answers. A state folder is never looked into: it may
 * have come with somebody's archive. Throws a {@link UsageError} that names all of these ways.
 */
export async function findTemporalBinary(lookup: BinaryLookup): Promise<TemporalBinary> {
  const { env, say } = lookup;
  if (env.TEMPORAL_CLI) return named(resolve(env.TEMPORAL_CLI), lookup);
  const cache = lookup.cacheDir ?? userCache(env);
  const found = await firstOf([...pathDirs(env), cache, ...goDirs(env)], lookup);
  if (found !== null) return found;
  const ways = waysOut(cache);
  if (lookup.allowDownload === false) throw new UsageError(`There is no Temporal server on this machine. ${ways}`);
  try {
    return await installTemporal({ dir: cache, program, env, say, check: checkBinary });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The Temporal server could not be installed: ${problem}. ${ways}`);
  }
}

/**
 * The program at this path if it runs and is Temporal's, else null. It may be anything: no key of ours is in its environment. Throws
 * {@link NoAnswer} where it does not answer: it may be stopped, or the machine is busy.
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
    // A stopped process heeds no other signal.
    const limits = { timeout: answerMs, killSignal: 'SIGKILL', windowsHide: true } as const;
    const { stdout } = await promisify(execFile)(path, ['--version'], { env, ...limits });
    return /^temporal version/.test(stdout) ? { path, version: stdout.trim() } : null;
  } catch (error) {
    if ((error as { readonly killed?: boolean }).killed) throw new NoAnswer(path, answerMs);
    return null;
  } finally {
    clearTimeout(waiting);
  }
}

/** A program that was not given the time to answer: no mistake of whoever named it. */
class NoAnswer extends Error {
  constructor(path: string, answerMs: number) {
    super(
      `${path} --version did not answer within ${answerMs / 1000} s: it is stopped, or this machine is busy. Run the same command again`,
    );
  }
}

async function named(path: string, lookup: BinaryLookup): Promise<TemporalBinary> {
  const found = await checkBinary(path, lookup);
  if (found === null)
    throw new UsageError(`TEMPORAL_CLI names ${path}, which is not Temporal's program or does not run.`);
  return found;
}

async function firstOf(dirs: readonly string[], lookup: BinaryLookup): Promise<TemporalBinary | null> {
  let silent: unknown = null;
  for (const dir of new Set(dirs)) {
    const path = join(dir, program);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue;
    try {
      const found = await checkBinary(path, lookup);
      if (found !== null) return found;
      lookup.say(`${path} does not run or is not Temporal's program: it is passed by.`);
    } catch (error) {
      silent ??= error;
    }
  }
  // A program that is there and slow is no reason to install another one.
  if (silent !== null) throw silent;
  return null;
}

const pathDirs = (env: Environment) => (env.PATH ?? env.Path ?? '').split(delimiter).filter(isAbsolute);

function goDirs(env: Environment): string[] {
  const paths = (env.GOPATH || join(home(env), 'go')).split(delimiter);
  return [env.GOBIN ?? '', ...paths.map((path) => join(path, 'bin'))].filter(isAbsolute);
}

const home = (env: Environment) => env.HOME || env.USERPROFILE || homedir();

function userCache(env: Environment): string {
  const { platform } = process;
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'searchflow', 'bin');
  if (platform === 'darwin') return join(home(env), 'Library', 'Caches', 'searchflow', 'bin');
  // By the XDG rules a relative path in the variable is ignored.
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(home(env), '.cache'), 'searchflow', 'bin');
}

function waysOut(cache: string): string {
  return [
    'Each of these helps:',
    '- TEMPORAL_ADDRESS=host:port, a Temporal server that runs elsewhere;',
    "- TEMPORAL_CLI, the path of Temporal's program (https://docs.temporal.io/cli);",
    '- the program `temporal` on PATH;',
    `- the program in ${cache};`,
    '- Go on PATH with access to its modules, which builds it;',
    '- access to https://temporal.download, from where it is fetched.',
  ].join('\n');
}
