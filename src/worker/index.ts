import type { OpenRuntime } from './runtime/views.js';

export { DEFAULT_BASE_URL } from '../core/connections/service.js';
export { type ConfigFlags, type ConfigSources, readConfig } from './config/config.js';
export {
  type BadRow,
  type EnrichRequest,
  JobFailed,
  type JobHandle,
  type JobPlan,
  type RuntimeConfig,
  UsageError,
} from './config/runtime-types.js';
export { SearchflowPlugin } from './host/plugin.js';
export type { SearchflowPluginOptions } from './host/plugin-options.js';
export type { OpenRuntime, Runtime } from './runtime/views.js';

/** See {@link OpenRuntime}. The modules of jobs are loaded with the first call, because a plugin without a record needs none. */
export const openRuntime: OpenRuntime = async (config) => (await import('./runtime/runtime.js')).openRuntime(config);
