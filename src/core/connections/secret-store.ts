import { CodedError } from '../errors/coded-error.js';
import type { Secret } from './secret.js';

/**
 * A store for secrets that the service returns only once, such as a monitor's `webhookSecret` (API reference: /monitors). When a method
 * that writes has returned, its write is durable. Names are free text, such as `webhook/<monitor id>`.
 */
export interface SecretStore {
  /** Stores a secret under a name; an earlier secret of that name is replaced. */
  put(name: string, secret: Secret): Promise<void>;
  get(name: string): Promise<Secret | null>;
  /** Removes a secret; returns false if there was no secret of that name. */
  remove(name: string): Promise<boolean>;
  /** Returns the sorted names of all secrets, without the values. */
  names(): Promise<readonly string[]>;
}

/** The secret store cannot be used until a person fixes a problem: the store is damaged, not accessible, or readable by other users. */
export class SecretStoreUnusable extends CodedError {
  override readonly name = 'SecretStoreUnusable';
}
