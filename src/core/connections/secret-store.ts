import type { Secret } from './secret.js';

/**
 * A store for secrets that the service returns only once, such as a monitor's `webhookSecret` (API reference: /monitors). Methods
 * that write return once the write is durable. Names are free text, such as `webhook/<monitor id>`.
 */
export interface SecretStore {
  /** Stores a secret under a name; replaces an earlier secret of that name. */
  put(name: string, secret: Secret): Promise<void>;
  get(name: string): Promise<Secret | null>;
  /** Removes a secret; returns false where there was none. */
  remove(name: string): Promise<boolean>;
  /** Returns the sorted names of all secrets, without the values. */
  names(): Promise<readonly string[]>;
}

/** The secret store cannot be used until a person fixes a problem: the store is damaged, not accessible, or readable by other users. */
export class SecretStoreUnusable extends Error {
  override readonly name = 'SecretStoreUnusable';
}
