import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import {
  AccountBreaker,
  type ActivityDeps,
  type AllActivities,
  CircuitBreaker,
  createActivities,
  createPurchase,
  createRuns,
  InFlight,
  Places,
} from '../../../src/activities/index.js';
import type { CallOptions } from '../../../src/activities/types.js';
import type { OperationName } from '../../../src/api/operations.js';
import { createTransport, type TransportOptions } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import type { Limiter } from '../../../src/core/limiter/limiter.js';
import { pricesAt } from '../../../src/core/purchase/prices.js';
import type { Json } from '../../../src/core/text/json.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import { MemorySlots } from '../../../src/store/limiter/memory-slots.js';
import { FileSecrets } from '../../../src/store/process/file-secrets.js';
import { sha256 } from '../../../src/worker/config/sha256.js';
import { idleLimiter } from '../store/idle-limiter.js';

export type Fields = Record<string, Json>;
export type Result = { readonly data: Fields; readonly costDollars: number };

/** A journal in a new folder, and the other dependencies of activities. */
export class ActivitySetting {
  readonly secretFile: string;
  readonly #opened: ActivityDeps[] = [];

  private constructor(
    readonly folder: string,
    readonly journal: FileJournal,
  ) {
    this.secretFile = join(folder, 'secrets.json');
  }

  static async open(): Promise<ActivitySetting> {
    const folder = mkdtempSync(join(tmpdir(), 'searchflow-activities-'));
    return new ActivitySetting(folder, await FileJournal.open(join(folder, 'journal'), { writes: true }));
  }

  /** The dependencies of another worker with the same journal. Workers of different origins do not share purchases. */
  worker(
    options: Pick<TransportOptions, 'baseUrl'> & Partial<TransportOptions>,
    origin = 'sandbox',
    limiter: Limiter = idleLimiter(),
  ): ActivityDeps {
    const { journal } = this;
    const [inFlight, health, accountBreaker] = [new InFlight(10), new CircuitBreaker(), new AccountBreaker()];
    const transport = createTransport({ apiKey: new Secret('canary-key'), ...options });
    const slots = new MemorySlots();
    const deps: ActivityDeps = {
      host: hostname(),
      servedElsewhere: async () => false,
      transport,
      alerts: { note: async () => undefined },
      sendAlert: async () => undefined,
      runs: createRuns({ transport, limiter, journal, slots }),
      origin,
      journal,
      limiter,
      places: new Places(limiter),
      purchase: createPurchase({ journal, limiter, inFlight, health, accountBreaker }),
      prices: () => pricesAt(Date.now()),
      sha256,
      stages: {
        share: async () => undefined,
        forget: async () => 0,
        rewrite: async () => undefined,
        slice: async () => {
          throw new Error('no operation has slices');
        },
      },
      warehouseFor: () => {
        throw new Error('no operation loads anything');
      },
      events: {
        warehouse: async () => {
          throw new Error('no operation loads anything');
        },
      },
      staged: async () => {
        throw new Error('no operation has slices');
      },
      csvOf: async () => null,
      publishing: {
        check: async () => undefined,
        publish: async () => {
          throw new Error('no operation publishes');
        },
      },
      noteState: async () => undefined,
      noteOpened: async () => undefined,
      noteWalk: async () => undefined,
      agentRuns: {
        warehouse: async () => {
          throw new Error('no operation loads anything');
        },
      },
      monitors: {
        warehouse: async () => {
          throw new Error('no operation loads anything');
        },
        secrets: async ({ file }) => new FileSecrets(file),
      },
      secrets: new FileSecrets(this.secretFile),
      scratchDir: this.folder,
      stage: async () => {
        throw new Error('no operation stages anything');
      },
      isShared: false,
      timeoutMs: 5000,
    };
    this.#opened.push(deps);
    return deps;
  }

  async close(): Promise<void> {
    for (const { transport, limiter } of this.#opened) {
      await transport.close();
      await limiter.close();
    }
    await this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs one attempt of an operation's activity. Each call is an activity of its own, unless `environment` names one. */
export async function runActivity(
  deps: ActivityDeps,
  name: OperationName,
  input: object,
  call?: CallOptions,
  environment = quiet({ activityId: randomUUID() }),
): Promise<Result> {
  const activities: AllActivities = createActivities(deps);
  const activity = activities[name] as unknown as (input: object, call?: CallOptions) => Promise<Result>;
  return environment.run(activity, input, call);
}

/** Runs one attempt of an activity. */
export function attempt<P extends unknown[], R>(activity: (...input: P) => Promise<R>, ...input: P): Promise<R> {
  return quiet().run(activity, ...input) as Promise<R>;
}

/** Warnings and errors that activities logged in environments of `quiet`. */
export const logged: string[] = [];

/** An environment without log output, because failures are intended here. */
export function quiet(info: object = {}, client?: object): MockActivityEnvironment {
  return new MockActivityEnvironment(
    { scheduledTimestampMs: Date.now(), ...info },
    { logger: new DefaultLogger('WARN', ({ message }) => logged.push(message)), client: client as never },
  );
}
