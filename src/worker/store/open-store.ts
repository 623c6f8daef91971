import { PostgresAway, PostgresRefused } from '../../postgres/index.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { FolderStore } from './folder-store.js';
import type { Store } from './store.js';

/**
 * Opens the store of a configuration: PostgreSQL for many workers, else the state folder. Throws `UsageError` if PostgreSQL refuses the
 * connection or cannot be reached.
 */
export async function openStore(config: RuntimeConfig): Promise<Store> {
  if (!config.store) return new FolderStore(config);
  // The module is loaded here, because a folder needs neither the statements of PostgreSQL nor the reader of staged rows.
  const { PostgresStore } = await import('./postgres-store.js');
  try {
    return await PostgresStore.open(config, config.store);
  } catch (error) {
    if (!(error instanceof PostgresRefused || error instanceof PostgresAway)) throw error;
    throw new UsageError(error.errorCode, `SEARCHFLOW_STORE: ${error.message}`, { cause: error });
  }
}
