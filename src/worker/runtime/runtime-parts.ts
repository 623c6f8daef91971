import type { RuntimeConfig } from '../config/runtime-types.js';
import type { Store } from '../store/store.js';
import type { OpenWarehouses } from '../store/warehouses.js';
import type { connectIfRunning, ServerAccess } from '../temporal-server/temporal.js';

/** The parts that all views of a runtime share. Each part but the store is opened when it is first needed. */
export interface RuntimeParts extends ServerAccess {
  readonly config: RuntimeConfig;
  readonly store: Store;
  readonly warehouses: OpenWarehouses;
  /** A Temporal server that is running; null without one. */
  connectIfRunning(): ReturnType<typeof connectIfRunning>;
}
