import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { moveDurably } from '../../files/write-durably.js';
import { buildTemporal, downloadTemporal, type InstallStep } from './download.js';

/** The Temporal program. */
export interface TemporalBinary {
  readonly path: string;
  /** Output of `--version`. */
  readonly version: string;
}

/** `go install` cannot install later tags. Another version needs other checksums in `download`. */
const TEMPORAL_VERSION = 'v1.5.1';
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
 * Installs Temporal's program into a folder: it is built by Go and downloaded at the same time, and the first to succeed is used. A lock
 * makes parallel processes install the program once. Throws an `Error` with the reasons of both failures.
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
    const step = { dir: own, version: TEMPORAL_VERSION, program, env, signal: stop.signal, archiveSum };
    const made = await run({ ...step, source: source ?? 'https://temporal.download' });
    chmodSync(made, 0o755);
    if ((await check(made)) === null) throw new Error(`${name}: the program does not run here`);
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
    // The slower attempt must clean up before its folder is removed.
    await Promise.allSettled(attempts);
  }
}

/** Removes a draft. A draft that cannot be removed is removed by the next installation. */
function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The next installation removes the draft.
  }
}
