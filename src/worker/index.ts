export { DEFAULT_BASE_URL } from '../core/connections/service.js';
export { UsageError } from '../core/errors/coded-error.js';
export type { Sink, SinkBatch, SinkColumn, SinkRow, Sinks } from '../core/rows/sink.js';
export { SearchflowPlugin } from './host/plugin.js';
export type { SearchflowPluginOptions } from './host/plugin-options.js';
