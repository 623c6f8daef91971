import { createRequire } from 'node:module';
import type * as Envconfig from '@temporalio/envconfig';
import type { RuntimeConfig } from './runtime-types.js';
import type { Environment, Found, Variables } from './variables.js';

/**
 * Address and namespace in Temporal's own environment configuration: its variables, and the file that they name. `asked`: the variable that
 * asks for this configuration. `isPlain`: the connection has no TLS. Throws an `Error` that follows `asked` if the configuration cannot be
 * used.
 */
export function temporalProfile(variables: Variables, env: Environment, asked: Found) {
  const overrides = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const profile = clientProfile(Object.fromEntries(overrides));
  const source = variables.whereOf(asked.name);
  const where = `${asked.name} in ${source === 'environment' ? 'the environment' : source}`;
  const found = (text: string | undefined, name: string) => (text ? { text, name, where } : null);
  const temporalAddress = found(profile.address, 'Temporal address');
  const namespace = found(profile.namespace, 'Temporal namespace') ?? variables.find('TEMPORAL_NAMESPACE');
  return { found: { temporalAddress, namespace }, isPlain: profile.tls === undefined && profile.apiKey === undefined };
}

function clientProfile(overrideEnvVars: Record<string, string>) {
  try {
    // The module is loaded here, because most commands have none of these variables. `require` is used, because settings are read
    // synchronously.
    const { loadClientConfigProfile } = createRequire(import.meta.url)('@temporalio/envconfig') as typeof Envconfig;
    return loadClientConfigProfile({ overrideEnvVars });
  } catch (error) {
    // Only the first line is shown, because the second may quote the file, which may hold a Temporal key.
    const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
    throw new Error(`cannot be used: ${reason}`);
  }
}

/** The version of a worker in Temporal's own variables; null without them, or the problem if only one of them is set. */
export function deploymentOf(env: Environment): RuntimeConfig['deployment'] | string {
  const { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: buildId } = env;
  if (deploymentName && buildId) return { deploymentName, buildId };
  if (!deploymentName && !buildId) return null;
  return `${deploymentName ? 'TEMPORAL_WORKER_BUILD_ID' : 'TEMPORAL_DEPLOYMENT_NAME'} is missing: the version of a worker needs both TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID; set both or none.`;
}
