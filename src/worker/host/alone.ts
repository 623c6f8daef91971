import { resolve } from 'node:path';
import { Runtime } from '@temporalio/worker';
import { AccountBreaker, CircuitBreaker, createAloneActivities, InFlight, Places } from '../../activities/alone.js';
import type { AllActivities } from '../../activities/index.js';
import { resolveBase } from '../../api/request.js';
import { createTransport, defaultTimeouts, type WireOptions } from '../../api/transport.js';
import { proxiesOf } from '../../core/connections/proxies.js';
import { Secret } from '../../core/connections/secret.js';
import { DEFAULT_BASE_URL } from '../../core/connections/service.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { Journal } from '../../core/purchase/journal.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import { MemoryLimiter } from '../../store/limiter/memory-limiter.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { MAX_CONCURRENCY, rateProfileOf } from '../config/rate-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import type { Pollers } from '../team/pollers.js';
import type { SearchflowPluginOptions } from './plugin-options.js';

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
export type AloneConfig = Pick<
  RuntimeConfig,
  | 'service'
  | 'origin'
  | 'baseUrl'
  | 'apiKey'
  | 'rate'
  | 'keyQps'
  | 'prices'
  | 'concurrency'
  | 'secretFile'
  | 'wire'
  | 'say'
>;

/** The settings of checked options. Throws `UsageError` for a base URL that cannot be used. */
export function aloneConfig(options: SearchflowPluginOptions): AloneConfig {
  const baseUrl = options.baseUrl ?? DEFAULT_BASE_URL;
  resolveBase(baseUrl);
  const qps = options.qps ?? 10;
  return {
    service: options.origin === 'sandbox' ? 'sandbox' : 'live',
    origin: options.origin ?? baseUrl.replace(/\/+$/, ''),
    baseUrl,
    apiKey: new Secret(options.apiKey),
    rate: options.rateProfile === undefined ? { qps } : { profile: options.rateProfile },
    prices: options.prices,
    keyQps: options.keyQps ?? null,
    concurrency: options.concurrency ?? Math.min(MAX_CONCURRENCY, qps * 5),
    secretFile: options.secretFile === undefined ? null : resolve(options.secretFile),
    wire: wireOf(options),
    say: options.say ?? ((sentence) => Runtime.instance().logger.warn(sentence)),
  };
}

/** Those options of the plugin that concern the wire, without unset ones. A sandbox on this machine is behind no proxy. */
function wireOf({ auth, headers, beta, betaHeader, unchecked, proxy, origin }: SearchflowPluginOptions): WireOptions {
  const usual = origin === 'sandbox' ? null : proxiesOf(process.env);
  return withoutUndefined({ auth, headers, beta, betaHeader, unchecked, proxy: proxy === undefined ? usual : proxy });
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
