import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { fieldOf } from '../../api/checks/field-of.js';
import type { Input } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { Secret } from '../../core/connections/secret.js';
import type { SecretStore } from '../../core/connections/secret-store.js';
import type { CallDeps } from '../base/deps.js';
import { redactAnswer } from '../call/landing.js';
import type { CallOptions, OperationResult } from './buy.js';
import { buyWhole, checkRequest } from './whole-request.js';

/** Attempts at storing a secret, and the time between attempts in ms. */
const TRIES = 5;
const RETRY_MS = 200;

/**
 * `createMonitor` (API reference: /monitors): the service returns the secret only once, so the secret is stored before anything else. A
 * missing or unwritable store is detected before the monitor is created. If the store fails later, the activity fails without a retry, and
 * the failure names the monitor.
 */
export async function createMonitor<I>(
  deps: CallDeps,
  endpoint: Endpoint<I, unknown>,
  input: Input<I>,
  call: CallOptions,
): Promise<OperationResult<unknown>> {
  // The request is checked before the store is opened, so that a refused request writes nothing.
  checkRequest(deps, endpoint, input, call);
  const secrets = await usable(deps.secrets);
  return buyWhole(deps, endpoint, input, call, async (answer) => {
    const secret = fieldOf(answer, 'webhookSecret');
    if (secret instanceof Secret) await keep(secrets, String(fieldOf(answer, 'id')), secret);
    return redactAnswer(answer, endpoint.secrets);
  });
}

async function usable(secrets: SecretStore | null): Promise<SecretStore> {
  const needed = 'createMonitor needs a secret store for the webhook secret, which the service returns only once';
  if (secrets === null)
    throw ApplicationFailure.nonRetryable(`${needed} (option secretFile); nothing was sent`, 'InvalidRequest');
  try {
    // This call removes nothing, but fails if the later write would fail.
    await secrets.remove('webhook/');
    return secrets;
  } catch (error) {
    throw ApplicationFailure.nonRetryable(`${needed}; nothing was sent: ${messageOf(error)}`, 'InvalidRequest');
  }
}

async function keep(secrets: SecretStore, id: string, secret: Secret): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await secrets.put(`webhook/${id}`, secret);
    } catch (error) {
      if (attempt === TRIES) {
        const help = `${messageOf(error)}. Fix the store, delete the monitor and create it again`;
        const message = `monitor ${id} was created, but its webhook secret could not be stored and is lost: ${help}`;
        throw ApplicationFailure.nonRetryable(message, 'SecretLost');
      }
      await delay(RETRY_MS * attempt);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
