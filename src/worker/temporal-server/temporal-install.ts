import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../../files/process-lock.js';
import { moveDurably } from '../../files/write-durably.js';
import { buildTemporal, type InstallStep } from './temporal-build.js';
import { downloadTemporal } from './temporal-download.js';

/** The Temporal program. */
export interface TemporalBinary {
  readonly path: string;
  /** What `--version` answers. */
  readonly version: string;
}

/** Later tags of the program can't be installed by `go install`; another one needs other checksums in `temporal-download`. */
const TEMPORAL_VERSION = 'v1.5.1';
const LOCK_WAIT_MS = 30 * 60_000;
const PROGRESS_MS = 15_000;
const DRAFT = '.install-';

export interface Installation {
  /** The cache: the program is put here. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (sentence: string) => void;
  /** The program's file name. */
  readonly program: string;
  readonly check: (path: string) => Promise<TemporalBinary | null>;
  /** Where Temporal publishes its program; another one in tests. */
  readonly source?: string;
  /** SHA-256 of its archive, of another one in tests. */
  readonly archiveSum?: string;
}

/**
 * Puts Temporal's program into a cache: Go builds it while it is also downloaded, and the first to succeed wins. Several
 * processes at once install it once. Throws naming what failed on each way.
 */
export async function installTemporal(installation: Installation): Promise<TemporalBinary> {
  const { dir, program, say, check } = installation;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const target = join(dir, program);
  return withLock(
    join(dir, 'install.lock'),
    async () => {
      const present = await check(target);
      if (present !== null) return present;
      // Under the lock, what is left here is of a process that was killed.
      for (const name of readdirSync(dir)) if (name.startsWith(DRAFT)) discard(join(dir, name));
      const started = performance.now();
      say(`Getting the Temporal server ${TEMPORAL_VERSION} into ${dir}, once; this can take some minutes.`);
      const progress = setInterval(() => {
        say(`Still getting the Temporal server (${Math.round((performance.now() - started) / 1000)} s).`);
      }, PROGRESS_MS);
      try {
        await moveDurably(await firstBuilt(installation), target);
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

async function firstBuilt({ dir, program, env, source, archiveSum, check }: Installation): Promise<string> {
  const stop = new AbortController();
  const attempt = async (name: string, run: (step: InstallStep) => Promise<string>) => {
    const own = join(dir, `${DRAFT}${name}-${process.pid}`);
    mkdirSync(own, { mode: 0o700 });
    const sum = archiveSum === undefined ? {} : { archiveSum };
    const step = { dir: own, version: TEMPORAL_VERSION, program, env, signal: stop.signal, ...sum };
    const made = await run({ ...step, source: source ?? 'https://temporal.download' });
    chmodSync(made, 0o755);
    if ((await check(made)) === null) throw new Error(`${name}: what came does not run here`);
    return made;
  };
  const attempts = [attempt('download', downloadTemporal), attempt('build', buildTemporal)];
  try {
    return await Promise.any(attempts);
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors : [error];
    throw new Error(reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join('; '), {
      cause: error,
    });
  } finally {
    stop.abort();
    // The slower one cleans up before its folder goes.
    await Promise.allSettled(attempts);
  }
}

/** A folder that can't be removed now is in nobody's way and goes with the next installation. */
function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // See above.
  }
}
