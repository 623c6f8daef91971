import { AccountBreaker, CircuitBreaker, createAloneActivities, InFlight, Places } from '../../activities/alone.js';
import type { Activities } from '../../activities/index.js';
import { createTransport, defaultTimeouts } from '../../api/transport.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { Journal } from '../../core/purchase/journal.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { rateProfileOf } from '../config/rate-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';

/** The activities of a worker, and how they are closed. */
export interface OpenedParts {
  readonly activities: Partial<Activities>;
  /** Null: the worker has no record. */
  readonly journal: Journal | null;
  close(): Promise<void>;
}

/** Opens the parts of a worker without a record: no folder, no database, no lock. `limiter`: the owner's, which stays open. */
export function openAlone(config: RuntimeConfig, limiter: Limiter | null): OpenedParts {
  const { baseUrl, apiKey, concurrency, say, wire, origin, prices, secretFile } = config;
  const warn = ({ message }: { readonly message: string }) => say(message);
  const transport = createTransport({ ...wire, baseUrl, apiKey, connections: concurrency, warn });
  const own = limiter ?? new MemoryLimiter(rateProfileOf(config));
  const activities = createAloneActivities({
    ...{ transport, origin, sha256, limiter: own, places: new Places(own), inFlight: new InFlight(concurrency) },
    ...{ health: new CircuitBreaker(), accountBreaker: new AccountBreaker(), timeoutMs: defaultTimeouts.totalMs },
    prices: () => pricesAt(Date.now(), prices),
    secrets: secretFile ? new FileSecrets(secretFile) : null,
  });
  return {
    activities: activities as Partial<Activities>,
    journal: null,
    close: async () => {
      await transport.close();
      if (limiter === null) await own.close();
    },
  };
}
