import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../core/errors/coded-error.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import { slotsInUse } from '../../core/limiter/slots.js';
import { AGENT } from '../../core/rows/row-operation.js';
import type { Stages } from '../../core/rows/stages.js';
import { lockHolder, tryLock } from '../../files/process-lock.js';
import { PostgresAway, PostgresRefused } from '../../postgres/index.js';
import { sliceFile } from '../../rows/index.js';
import { FileJournal, type FileJournalOptions } from '../../store/file/file-journal.js';
import { damageText } from '../../store/file/mend-segment.js';
import { fileRates } from '../../store/limiter/file-rates.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import { MemorySlots } from '../../store/limiter/memory-slots.js';
import { QueuedLimiter } from '../../store/limiter/queued-limiter.js';
import { SharedRates } from '../../store/limiter/shared-rates.js';
import { recordFormat } from '../../store/process/folder-format.js';
import { rateProfileOf } from '../config/derived-settings.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { FolderJobs } from './folder-jobs.js';
import type { PurchaseJournal, Store, WorkerStore } from './store.js';
import { fingerprint, teamOf } from './team.js';

/**
 * Opens the store of a configuration: PostgreSQL for many workers, else the state folder. Throws `UsageError` if PostgreSQL refuses the
 * connection or cannot be reached.
 */
export async function openStore(config: RuntimeConfig): Promise<Store> {
  if (!config.store) return new FolderStore(config);
  // The module is loaded here, because a folder needs neither the statements of PostgreSQL nor the reader of staged rows.
  const { PostgresStore } = await import('./postgres-store.js');
  try {
    return await PostgresStore.open(config, config.store);
  } catch (error) {
    if (!(error instanceof PostgresRefused || error instanceof PostgresAway)) throw error;
    throw new UsageError(error.errorCode, `SEARCHFLOW_STORE: ${error.message}`, { cause: error });
  }
}

/** Slices in the state folder, for the worker of that folder. */
const folderStages: Stages = {
  share: async () => undefined,
  async slice({ stageDir }, slice) {
    const path = sliceFile(stageDir, slice);
    if (existsSync(path)) return path;
    throw new CodedError(
      'staged-rows-missing',
      `The staged rows ${path} are missing. Run the job's command again to stage them; nothing is bought twice`,
    );
  },
  forget: async () => 0,
  rewrite: async () => undefined,
};

/** The store of a state folder, for one worker process at a time (by a lock) and any number of readers. */
export class FolderStore implements Store {
  readonly shared = false;
  readonly stages = folderStages;
  readonly entries: FolderJobs;
  readonly #config: RuntimeConfig;
  readonly #lockPath: string;
  readonly #journalDir: string;
  #reading: Promise<FileJournal> | null = null;
  #working: WorkerStore | null = null;
  #limiter: Limiter | null = null;

  constructor(config: RuntimeConfig) {
    this.#config = config;
    this.entries = new FolderJobs(join(config.stateDir, 'jobs'), config.say);
    this.#lockPath = join(config.stateDir, 'worker.lock');
    this.#journalDir = join(config.stateDir, 'journal');
  }

  /** The journal of this process's worker; a journal for reading if this process runs no worker. */
  async journal(): Promise<PurchaseJournal> {
    return this.#working?.journal ?? this.#readJournal();
  }

  #readJournal(): Promise<FileJournal> {
    this.#reading ??= this.#openJournal({ writes: false, alone: lockHolder(this.#lockPath) === null });
    return this.#reading;
  }

  async #openJournal(how: Pick<FileJournalOptions, 'writes' | 'alone'>): Promise<FileJournal> {
    const journal = await FileJournal.open(this.#journalDir, { ...how, team: teamOf(this.#config) });
    for (const damage of journal.damage) this.#config.say(damageText(damage));
    return journal;
  }

  async work(): Promise<WorkerStore | null> {
    const lock = tryLock(this.#lockPath);
    if (!lock) return null;
    const releases = [() => lock.release()];
    const release = () => {
      for (const one of releases.splice(0).reverse()) one();
    };
    try {
      // The journal of the worker replaces the journal for reading, whose index is released.
      this.#reading = null;
      await recordFormat(this.#config.stateDir);
      const journal = await this.#openJournal({ writes: true });
      const slots = this.#slotsOf(journal);
      this.#working = {
        journal,
        limiter: this.limiter(),
        slots,
        close: async () => {
          this.#working = null;
          await slots.close();
          await journal.close();
          release();
        },
      };
      return this.#working;
    } catch (error) {
      release();
      throw error;
    }
  }

  holder(): number | null {
    return lockHolder(this.#lockPath)?.pid ?? null;
  }

  limiter(): Limiter {
    this.#limiter ??= openLimiter(this.#config);
    return this.#limiter;
  }

  async slots() {
    if (this.#working) return slotsInUse(this.#working.slots, this.#working.journal);
    const journal = await this.#readJournal();
    return slotsInUse(this.#slotsOf(journal), journal);
  }

  /** The slots of the folder's team, with the slots that runs of earlier processes hold. */
  #slotsOf(journal: FileJournal): MemorySlots {
    return new MemorySlots(this.#config.agentSlots, journal.slotsOf(AGENT));
  }

  /** Always empty, because a folder has one worker. */
  async otherLimits() {
    return [];
  }

  /** The worker of a folder is the only worker on its task queue. */
  async servedElsewhere() {
    return false;
  }

  async close(): Promise<void> {
    await (await this.#reading)?.close();
    await this.#limiter?.close();
    this.entries.close();
  }
}

/** A bucket keeps a time for each unit of a second, so a file is for limits of real services. A test server may have a higher one. */
const MOST_IN_FILE = 1000;

/**
 * Opens the limiter of a team for all processes of a user on this machine. With a share of the limit (`--qps`), only processes of the same
 * state folder use the share; blocks are always those of the team. Each sandbox has its own limit, which one process uses.
 */
export function openLimiter(config: RuntimeConfig): QueuedLimiter {
  const profile = rateProfileOf(config);
  const isOwn = config.origin === 'sandbox' || profile.buckets.some(({ qps }) => qps > MOST_IN_FILE);
  if (isOwn) return new MemoryLimiter(profile, { unused: true });
  const dir = join(config.userStateDir, 'limits');
  const team = join(dir, sha256(teamOf(config)).slice(0, 24));
  const own = config.rateIsShare ? join(config.stateDir, 'limit') : team;
  const store = fileRates(`${own}.json`, `${team}.block.json`);
  return new QueuedLimiter(new SharedRates(profile, store, fingerprint(config.apiKey)));
}
