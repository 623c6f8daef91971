export { DEFAULT_BASE_URL } from '../core/text/service.js';
export { type ConfigFlags, type ConfigSources, readConfig } from './config.js';
export { SearchflowPlugin, type SearchflowPluginOptions } from './plugin.js';
export { openRuntime } from './runtime.js';
export {
  type BadRow,
  type EnrichRequest,
  JobFailed,
  type JobHandle,
  type JobPlan,
  type OpenRuntime,
  type Runtime,
  type RuntimeConfig,
  UsageError,
} from './runtime-types.js';
