import { join } from 'node:path';
import { slotsInUse } from '../../core/limiter/slots.js';
import type { Postgres } from '../../postgres/index.js';
import { sliceFile } from '../../rows/index.js';
import { QueuedLimiter } from '../../store/limiter/queued-limiter.js';
import { SharedRates } from '../../store/limiter/shared-rates.js';
import { PgJournal } from '../../store/postgres/journal/pg-journal.js';
import { PgJobEntries } from '../../store/postgres/pg-job-entries.js';
import { pgRates } from '../../store/postgres/pg-rates.js';
import { PgStages } from '../../store/postgres/pg-stages.js';
import { connectStore } from '../../store/postgres/schema/store-schema.js';
import { PgSlots } from '../../store/postgres/slots.js';
import type { DatabaseAddress } from '../config/database-setting.js';
import { rateProfileOf } from '../config/derived-settings.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { Store, WorkerStore } from './store.js';
import { fingerprint, isTeamAt, teamOf } from './team.js';

/** Connections of a process, for parallel claims, purchases and grants. */
const CONNECTIONS = 8;

/** The store of many workers, in a schema of a PostgreSQL database. */
export class PostgresStore implements Store {
  readonly shared = true;
  readonly entries: PgJobEntries;
  readonly stages: PgStages;
  readonly #config: RuntimeConfig;
  readonly #postgres: Postgres;
  readonly #limiter: QueuedLimiter;
  readonly #slots: PgSlots;
  #journal: Promise<PgJournal> | null = null;

  private constructor(config: RuntimeConfig, postgres: Postgres) {
    this.#config = config;
    this.#postgres = postgres;
    this.entries = new PgJobEntries(postgres, join(config.userStateDir, 'owners'), config.say);
    this.stages = new PgStages(postgres, { cacheDir: join(config.stateDir, 'fetched-stages'), sliceFile });
    const team = teamOf(config);
    const rates = new SharedRates(rateProfileOf(config), pgRates(postgres, team), fingerprint(config.apiKey));
    this.#limiter = new QueuedLimiter(rates);
    this.#slots = new PgSlots({ postgres, team, limit: config.agentSlots });
  }

  /** Connects, and creates or migrates the schema. Throws if the database cannot be used. */
  static async open(config: RuntimeConfig, address: DatabaseAddress): Promise<PostgresStore> {
    const options = { applicationName: 'searchflow store', max: CONNECTIONS, say: config.say };
    return new PostgresStore(config, await connectStore(address.url.reveal(), options));
  }

  /** The journal is opened on first use, because opening registers this process in the store. */
  journal(): Promise<PgJournal> {
    const { deadAfterMs } = this.#config;
    this.#journal ??= PgJournal.open(this.#postgres, {
      team: teamOf(this.#config),
      deadAfterMs,
    });
    return this.#journal;
  }

  async work(): Promise<WorkerStore> {
    const journal = await this.journal();
    await journal.works(this.#config.taskQueue);
    // These parts belong to the process and are closed with the store.
    return { journal, limiter: this.#limiter, slots: this.#slots, close: async () => undefined };
  }

  holder(): null {
    return null;
  }

  limiter() {
    return this.#limiter;
  }

  async slots() {
    return slotsInUse(this.#slots, await this.journal());
  }

  async otherLimits() {
    const { taskQueue, origin } = this.#config;
    const all = await (await this.journal()).workersOn(taskQueue);
    const own = teamOf(this.#config);
    return all.filter(({ team }) => team !== own && isTeamAt(team, origin)).map(({ host, pid }) => ({ host, pid }));
  }

  async servedElsewhere({ origin, host }: { readonly origin: string; readonly host: string }) {
    const all = await (await this.journal()).workersOn(this.#config.taskQueue);
    return all.some((worker) => worker.host === host && isTeamAt(worker.team, origin));
  }

  async close(): Promise<void> {
    await this.#limiter.close();
    await this.#slots.close();
    const journal = await this.#journal?.catch(() => null);
    await journal?.close();
    this.entries.close();
    await this.#postgres.close();
  }
}
