import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ActivityDeps, createPurchase, Halt, InFlight, ServiceHealth } from '../activities/index.js';
import { createTransport, defaultTimeouts, type Transport } from '../api/transport.js';
import { pricesAt } from '../core/prices.js';
import { flatProfile, type RateProfile, rateProfiles } from '../core/rate.js';
import { createSinks } from '../sinks/index.js';
import { FileJournal } from '../store/file-journal.js';
import { FileSecrets } from '../store/file-secrets.js';
import { MemoryLimiter } from '../store/memory-limiter.js';
import { folderStages } from './folder-stages.js';
import { ownLimit } from './limit-owner.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';
import { sha256 } from './sha256.js';
import { stageEnrichment, toStageRequest } from './stage-job.js';
import { warnInActivity } from './warn-in-activity.js';

/** The parts a worker process is made of, and how to take it apart again. */
export interface Parts {
  readonly deps: ActivityDeps;
  readonly transport: Transport;
  readonly inFlight: InFlight;
  close(): Promise<void>;
}

export function rateProfileOf(rate: RuntimeConfig['rate']): RateProfile {
  if ('qps' in rate) return flatProfile(rate.qps);
  const profile = rateProfiles[rate.profile];
  if (!profile)
    throw new UsageError(`There is no rate profile ${rate.profile}; there are ${Object.keys(rateProfiles).join(', ')}`);
  return profile;
}

export function openTransport(config: RuntimeConfig): Transport {
  const { baseUrl, apiKey, concurrency, say, wire } = config;
  const warn = ({ message }: { readonly message: string }) => {
    say(message);
    warnInActivity(message);
  };
  return createTransport({ ...wire, baseUrl, apiKey, connections: concurrency, warn });
}

export function journalDir(config: RuntimeConfig): string {
  return join(config.stateDir, 'journal');
}

/**
 * Puts a worker's parts together: the one place where ports meet what implements them. The caller holds the lock of the state
 * directory. Throws `UsageError` where another process holds the team's limit.
 */
export async function openParts(config: RuntimeConfig): Promise<Parts> {
  const scratchDir = join(config.stateDir, 'scratch');
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  // Every sandbox is a service of its own: there is no team to share a limit with.
  const owned =
    config.origin === 'sandbox'
      ? null
      : ownLimit(join(config.userStateDir, 'limits'), config.origin, config.apiKey, config.rateIsShare);
  try {
    const journal = await FileJournal.open(journalDir(config), { writes: true });
    const limiter = new MemoryLimiter(rateProfileOf(config.rate), owned?.memory ?? null);
    const transport = openTransport(config);
    const sinks = createSinks({ say: config.say });
    const inFlight = new InFlight(config.concurrency);
    const purchase = createPurchase({
      journal,
      limiter,
      inFlight,
      health: new ServiceHealth(),
      halt: new Halt(),
    });
    const { stateDir, origin, concurrency } = config;
    const deps: ActivityDeps = {
      transport,
      origin,
      journal,
      limiter,
      purchase,
    prices: () => pricesAt(Date.now(), config.prices),
      sha256,
      stages: folderStages,
      sinkFor: ({ into }) => sinks.open(into),
      secrets: config.secretFile ? new FileSecrets(config.secretFile) : null,
      scratchDir,
      timeoutMs: defaultTimeouts.totalMs,
      stage: async (input) => {
        const context = { stateDir, origin, cwd: process.cwd(), concurrency, transport };
        const { staged } = await stageEnrichment(context, toStageRequest(input));
        return input.freshness ? { staged, freshness: input.freshness } : { staged };
      },
    };
    return {
      deps,
      transport,
      inFlight,
      close: async () => {
        await transport.close();
        await limiter.close();
        await journal.close();
        await sinks.close();
        owned?.release();
      },
    };
  } catch (error) {
    owned?.release();
    throw error;
  }
}
