import { Runtime } from '@temporalio/worker';
import { AccountBreaker, CircuitBreaker, createAloneActivities, InFlight, Places } from '../../activities/alone.js';
import type { AllActivities } from '../../activities/index.js';
import { createTransport, defaultTimeouts } from '../../api/transport.js';
import { proxiesOf } from '../../core/connections/proxies.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { Journal } from '../../core/purchase/journal.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { callSettings, rateProfileOf } from '../config/derived-settings.js';
import type { Values } from '../config/settings.js';
import { sha256 } from '../config/sha256.js';
import type { Pollers } from '../temporal-server/pollers.js';

/** The activities of a worker, and how they are closed. */
export interface OpenedParts {
  readonly activities: Partial<AllActivities>;
  /** Null: the worker has no record. */
  readonly journal: Journal | null;
  /** The other workers of the task queue; null without a record. */
  readonly pollers: Pollers | null;
  close(): Promise<void>;
}

/** The settings that a worker without a record needs, and that a record does not change. */
export type AloneConfig = ReturnType<typeof aloneConfig>;

/** The settings of a worker without a record. */
export function aloneConfig(values: Values) {
  const { baseUrl, origin = baseUrl, proxy, say } = values;
  const isSandbox = origin === 'sandbox';
  return {
    // A sandbox on this machine is behind no proxy.
    ...callSettings({ ...values, proxy: proxy === undefined && !isSandbox ? proxiesOf(process.env) : proxy }),
    service: isSandbox ? ('sandbox' as const) : ('live' as const),
    ...{ origin, baseUrl },
    apiKey: values.apiKey ?? null,
    say: say ?? ((sentence) => Runtime.instance().logger.warn(sentence)),
  };
}

/** Opens the parts of a worker without a record: no folder, no database, no lock. `limiter`: the owner's, which stays open. */
export function openAlone(config: AloneConfig, limiter: Limiter | null): OpenedParts {
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
    activities: activities as Partial<AllActivities>,
    journal: null,
    pollers: null,
    close: async () => {
      await transport.close();
      if (limiter === null) await own.close();
    },
  };
}
