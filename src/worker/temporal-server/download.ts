import { execFile, spawn } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, createWriteStream, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { z } from 'zod';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { moveDurably, withPath } from '../../files/write-durably.js';
import { bareEnvironment } from './server-files.js';

/** `go install` cannot install later tags. Another version needs other checksums. */
const TEMPORAL_VERSION = 'v1.5.1';
const SOURCE = 'https://temporal.download';
const FIRST_BYTE_MS = 10_000;
const STALL_MS = 30_000;
const MAX_BYTES = 500 * 1024 * 1024;
const platforms: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * SHA-256 of the archives of version 1.5.1. Two independent public repositories have the same values: cashapp/hermit-packages and
 * zph/hermit-packages. Without two sources for a platform, nothing is downloaded.
 */
const archiveSums: Readonly<Record<string, string>> = {
  'linux amd64': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'darwin amd64': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'darwin arm64': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

/** Answer of the download service: the address of an archive, and the name of the program in it. */
const answerShape = z.object({ archiveUrl: z.url(), fileToExtract: z.string().regex(/^[\w.-]+$/) });

/**
 * Downloads Temporal's program from the source that Temporal's SDKs use, and starts no server. An archive with another checksum is not opened.
 * Limits: ten seconds to the first byte, thirty seconds without data. Returns the path; throws the reason.
 */
async function downloadTemporal(step: InstallStep): Promise<string> {
  const { dir, source, env } = step;
  const platform = platforms[process.platform];
  const arch = architectures[process.arch];
  if (!platform || !arch) throw new Error(`download: no program is available for ${process.platform} ${process.arch}`);
  const sum = step.archiveSum ?? archiveSums[`${platform} ${arch}`];
  if (sum === undefined) throw new Error(`download: no checksum is known for ${platform} ${arch}`);
  const windows = platform === 'windows';
  const query = new URLSearchParams({ arch, platform, format: windows ? 'zip' : 'tar.gz' });
  const [httpProxy, httpsProxy] = [env.http_proxy ?? env.HTTP_PROXY, env.https_proxy ?? env.HTTPS_PROXY];
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy,
    httpsProxy,
    noProxy: env.no_proxy ?? env.NO_PROXY,
    connectTimeout: FIRST_BYTE_MS,
    headersTimeout: FIRST_BYTE_MS,
    bodyTimeout: STALL_MS,
  });
  const get = async (url: string) => {
    const response = await fetch(url, { dispatcher });
    if (!response.ok || response.body === null) throw new Error(`${new URL(url).host} answered ${response.status}`);
    return { response, body: response.body };
  };
  try {
    const { response } = await get(`${source}/cli/${TEMPORAL_VERSION}?${query}`);
    const { archiveUrl, fileToExtract } = answerShape.parse(await response.json());
    const archive = join(dir, windows ? 'archive.zip' : 'archive.tar.gz');
    const { body } = await get(archiveUrl);
    const hash = createHash('sha256');
    await pipeline(Readable.fromWeb(body), atMost(MAX_BYTES, hash), createWriteStream(archive)).catch(
      (error: unknown) => {
        throw withPath(error, archive);
      },
    );
    if (hash.digest('hex') !== sum) throw new Error('the archive has an unexpected SHA-256');
    // `tar` is part of Linux, macOS and Windows. On Windows, `tar` also reads zip.
    await promisify(execFile)('tar', ['-xf', archive, '-C', dir, fileToExtract], {
      env: bareEnvironment(env),
      windowsHide: true,
    });
    return join(dir, fileToExtract);
  } catch (cause) {
    throw new Error(`download: ${reasonOf(cause, httpsProxy ?? httpProxy)}`, { cause });
  } finally {
    await dispatcher.destroy();
  }
}

function atMost(limit: number, hash: Hash) {
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > limit) throw new Error(`the archive is larger than ${limit} bytes`);
      hash.update(chunk);
      yield chunk;
    }
  };
}

/** The status of a proxy that refuses a tunnel; undici reports the status only in this text. */
const refusedTunnel = /^Proxy response \((\d{3})\)/;

/** The reason of a failed download; `fetch` has the reason in `cause`, which may have a `cause` itself. */
function reasonOf(error: unknown, proxy: string | undefined): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause, proxy);
  const status = refusedTunnel.exec(error.message)?.[1];
  if (status === undefined) return error.message || error.name;
  const host = proxy !== undefined && URL.canParse(proxy) ? ` ${new URL(proxy).host}` : '';
  return `the proxy${host} (HTTPS_PROXY) answered ${status}`;
}

/** Arguments of both ways of installing. */
interface InstallStep extends Pick<Installation, 'program' | 'env' | 'archiveSum'> {
  /** An empty folder on the cache's file system. */
  readonly dir: string;
  readonly source: string;
}

const MODULE = 'github.com/temporalio/cli/cmd/temporal';

/** The environment for Go: that of any program, with Go's own settings, proxies and certificates. It has no key of ours. */
function goEnvironment(env: InstallStep['env']): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) =>
    /^(GO|CGO_|GIT_|SSL_|XDG_|LOCALAPPDATA$|https?_proxy$|no_proxy$)/i.test(name),
  );
  return { ...bareEnvironment(env), ...Object.fromEntries(own) };
}

/** Builds Temporal's program with Go in some minutes. Returns its path; throws the last lines of Go's output. */
async function buildTemporal({ dir, program, env }: InstallStep): Promise<string> {
  // Without symbols and debug data, because at each start the server reads its whole program.
  const child = spawn('go', ['install', '-ldflags=-s -w', `${MODULE}@${TEMPORAL_VERSION}`], {
    // This folder has no go.mod, because a go.mod would change the build.
    cwd: dir,
    env: { ...goEnvironment(env), GOBIN: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-2_000);
  });
  try {
    const [code] = await once(child, 'close');
    if (code === 0) return join(dir, program);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(missing ? 'Go is not on PATH' : `go install: ${(cause as Error).message}`, { cause });
  }
  const words = output.trim().split('\n').slice(-3).join(' / ');
  throw new Error(`go install ${MODULE}@${TEMPORAL_VERSION}: ${words || 'it failed without a message'}`);
}

export interface TemporalBinary {
  readonly path: string;
  /** Output of `--version`. */
  readonly version: string;
}

const LOCK_WAIT_MS = 30 * 60_000;
const PROGRESS_MS = 15_000;
const DRAFT = '.install-';

/** Arguments of {@link installTemporal}. */
export interface Installation {
  /** Folder that the program is installed into. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (sentence: string) => void;
  /** File name of the program. */
  readonly program: string;
  readonly check: (path: string) => Promise<TemporalBinary | null>;
  /** Address of Temporal's downloads; tests use another address. */
  readonly source?: string;
  /** SHA-256 of the archive, for tests. */
  readonly archiveSum?: string;
}

/**
 * Installs Temporal's program into a folder: it is downloaded or, if that fails, built by Go. A lock makes parallel processes install the
 * program once. Throws an `Error` with the reasons of both failures.
 */
export async function installTemporal(installation: Installation): Promise<TemporalBinary> {
  const { dir, program, say, check } = installation;
  makeFolder(dir);
  const target = join(dir, program);
  return withLock(
    join(dir, 'install.lock'),
    async () => {
      const present = await check(target);
      if (present !== null) return present;
      // While the lock is held, existing drafts are those of killed processes.
      for (const name of readdirSync(dir)) if (name.startsWith(DRAFT)) discard(join(dir, name));
      const started = performance.now();
      say(
        `Installing the Temporal server ${TEMPORAL_VERSION} into ${dir}. This is done once and can take some minutes.`,
      );
      const progress = setInterval(() => {
        say(`Still installing the Temporal server (${Math.round((performance.now() - started) / 1000)} s).`);
      }, PROGRESS_MS);
      try {
        await moveDurably(await made(installation), target);
      } finally {
        clearInterval(progress);
        for (const name of readdirSync(dir)) if (name.startsWith(DRAFT)) discard(join(dir, name));
      }
      const installed = await check(target);
      if (installed === null) throw new Error(`${target} was installed but does not run here`);
      return installed;
    },
    { waitMs: LOCK_WAIT_MS, say },
  );
}

/** The path of the program in a draft: downloaded, or built by Go if the download fails. */
async function made({ dir, program, env, source, archiveSum, check }: Installation): Promise<string> {
  const reasons: string[] = [];
  for (const [name, make] of [['download', downloadTemporal] as const, ['build', buildTemporal] as const]) {
    const own = join(dir, `${DRAFT}${name}-${process.pid}`);
    mkdirSync(own, { mode: 0o700 });
    try {
      const path = await make({ dir: own, program, env, source: source ?? SOURCE, archiveSum });
      chmodSync(path, 0o755);
      if ((await check(path)) !== null) return path;
      reasons.push(`${name}: the program does not run here`);
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  throw new Error(reasons.join('; '));
}

/** Removes a draft. A draft that cannot be removed is removed by the next installation. */
function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The next installation removes the draft.
  }
}
