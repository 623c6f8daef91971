import type { Secret } from './secret.js';

/**
 * Where secrets go that the service shows once, such as a monitor's `webhookSecret` (interface section 5.5). Every method that
 * writes returns only after the write is durable. Names are free text, such as `webhook/<monitor id>`.
 */
export interface SecretStore {
  /** Keeps a secret under a name; another one of that name is replaced. */
  put(name: string, secret: Secret): Promise<void>;
  get(name: string): Promise<Secret | null>;
  /** Forgets a secret; false where there was none. */
  remove(name: string): Promise<boolean>;
  /** The names, sorted. Never a value. */
  names(): Promise<readonly string[]>;
}

/** The secret store can't be used until a person changes something: no permission, readable by others, damaged. */
export class SecretStoreUnusable extends Error {
  override readonly name = 'SecretStoreUnusable';
}
