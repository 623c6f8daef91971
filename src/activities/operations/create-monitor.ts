import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { fieldOf } from '../../api/checks/field-of.js';
import type { Input } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { Secret } from '../../core/text/secret.js';
import type { SecretStore } from '../../core/text/secret-store.js';
import type { ActivityDeps } from '../base/deps.js';
import { withoutSecrets } from '../call/without-secrets.js';
import type { CallOptions, OperationResult } from './buy.js';
import { buyWhole } from './whole-request.js';

/** How often, and how far apart (ms), a secret in hand is offered to its store. */
const TRIES = 5;
const RETRY_MS = 200;

/**
 * `createMonitor` (interface section 4.6): the secret that is told once goes to the secret store before anything else. A store
 * that is missing or can't be written is found out before the monitor is made; one that fails afterwards ends the activity for
 * good, naming the monitor.
 */
export async function createMonitor<I>(
  deps: ActivityDeps,
  endpoint: Endpoint<I, unknown>,
  input: Input<I>,
  call: CallOptions,
): Promise<OperationResult<unknown>> {
  const secrets = await usable(deps.secrets);
  return buyWhole(deps, endpoint, input, call, async (answer) => {
    const secret = fieldOf(answer, 'webhookSecret');
    if (secret instanceof Secret) await keep(secrets, String(fieldOf(answer, 'id')), secret);
    return withoutSecrets(answer, endpoint.secrets);
  });
}

async function usable(secrets: SecretStore | null): Promise<SecretStore> {
  const needed = 'createMonitor needs a secret store for the webhook secret, which the service tells only once';
  if (secrets === null) throw refused(`${needed} (option secretFile); nothing was sent`);
  try {
    // A change of nothing: it fails as the one that counts would.
    await secrets.remove('webhook/');
    return secrets;
  } catch (error) {
    throw refused(`${needed}; nothing was sent: ${messageOf(error)}`);
  }
}

async function keep(secrets: SecretStore, id: string, secret: Secret): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await secrets.put(`webhook/${id}`, secret);
    } catch (error) {
      if (attempt === TRIES) {
        throw ApplicationFailure.nonRetryable(
          `monitor ${id} was made, but its webhook secret could not be kept and is lost: ${messageOf(error)}; mend the store, delete the monitor and make it again`,
          'SecretLost',
        );
      }
      await delay(RETRY_MS * attempt);
    }
  }
}

function refused(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'InvalidRequest');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
