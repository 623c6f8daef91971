import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type * as Envconfig from '@temporalio/envconfig';
import { z } from 'zod';
import { isLoopback } from '../../core/connections/loopback.js';
import type { RuntimeConfig } from './runtime-types.js';
import type { Environment, Found, SettingsReader } from './settings-reader.js';

/** `host:port` of a Temporal or Prometheus endpoint. */
export const hostPort = z
  .string()
  .regex(/^(\[[0-9a-f:.]+\]|[^\s:/@]+):\d{1,5}$/i)
  .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535);

/** Name of a task queue or namespace in Temporal. */
export const temporalName = z.string().regex(/^[^\s\p{Cc}]{1,200}$/u);

/** Address and namespace of Temporal, from Temporal's own environment configuration. Address null: the embedded server. */
export function readTemporal(
  reader: SettingsReader,
  env: Environment,
): { readonly address: string | null; readonly namespace: string } {
  const asked = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE']
    .map((name) => reader.variable(name))
    .find((found) => found !== null);
  let address: Found | null = null;
  let isPlain = false;
  let namespace = reader.variable('TEMPORAL_NAMESPACE');
  if (asked) {
    const overrides = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    try {
      // The module is loaded here, because most commands have none of these variables. `require` is used, because settings are read
      // synchronously.
      const { loadClientConfigProfile } = createRequire(import.meta.url)('@temporalio/envconfig') as typeof Envconfig;
      const profile = loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(overrides) });
      const where = `${asked.name} in ${asked.where === 'environment' ? 'the environment' : asked.where}`;
      if (profile.address) address = { text: profile.address, name: 'Temporal address', where };
      isPlain = profile.tls === undefined && profile.apiKey === undefined;
      if (profile.namespace) namespace = { text: profile.namespace, name: 'Temporal namespace', where };
    } catch (error) {
      // Only the first line is shown, because the second may quote the file, which may hold a Temporal key.
      const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
      reader.wrong(asked, `cannot be used: ${reason}`);
    }
  }
  const server = reader.check(address, hostPort, 'an address such as localhost:7233');
  if (address && server && isPlain && !isLoopback(server.replace(/:\d+$/, '')))
    reader.wrong(
      address,
      'is on another machine, and the connection has no TLS. Set TEMPORAL_TLS=true. In a private network, TEMPORAL_TLS=false allows plain text.',
    );
  return {
    address: server,
    namespace: reader.check(namespace, temporalName, 'a namespace name') ?? 'default',
  };
}

/** The version of a worker, from Temporal's own variables; null without them. */
export function readDeployment(reader: SettingsReader): RuntimeConfig['deployment'] {
  const [name, build] = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID'].map((one) => reader.variable(one));
  const lone = name && !build ? name : build && !name ? build : null;
  if (lone) reader.wrong(lone, 'needs both TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID; set both or none.');
  return name && build ? { deploymentName: name.text, buildId: build.text } : null;
}

/** How payloads of workflows are encoded: by a module, or encrypted on the embedded server. `address`: null for the embedded server. */
export function readConverter(
  reader: SettingsReader,
  address: string | null,
  cwd: string,
): { readonly dataConverterPath: string | null; readonly encrypts: boolean | null } {
  const module = reader.variable('SEARCHFLOW_DATA_CONVERTER');
  // Most commands do not load the module, so a missing one is reported here, with the other mistakes.
  if (module !== null && !existsSync(resolve(cwd, module.text)))
    reader.wrong(module, 'does not exist. Name the module with the data converter of the workers.');
  const asked = reader.variable('SEARCHFLOW_ENCRYPT');
  const encrypts = reader.check(asked, z.enum(['0', '1']), '0 or 1');
  if (encrypts === '1' && address !== null && asked !== null)
    reader.wrong(
      asked,
      'is for the embedded server; for a server of your own, set SEARCHFLOW_DATA_CONVERTER to a module.',
    );
  if (encrypts === '1' && module !== null && asked !== null)
    reader.wrong(asked, 'and SEARCHFLOW_DATA_CONVERTER cannot be combined; set one of them.');
  return {
    dataConverterPath: module === null ? null : resolve(cwd, module.text),
    encrypts: encrypts === null ? null : encrypts === '1',
  };
}
