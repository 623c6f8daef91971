import { createRequire } from 'node:module';
import type * as Envconfig from '@temporalio/envconfig';
import { z } from 'zod';
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
  let namespace = reader.variable('TEMPORAL_NAMESPACE');
  if (asked) {
    const overrides = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    try {
      // The module is loaded here, because most commands have none of these variables. `require` is used, because settings are read
      // synchronously.
      const { loadClientConfigProfile } = createRequire(import.meta.url)('@temporalio/envconfig') as typeof Envconfig;
      const profile = loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(overrides) });
      const where = `${asked.name} in the environment`;
      if (profile.address) address = { text: profile.address, name: 'Temporal address', where };
      if (profile.namespace) namespace = { text: profile.namespace, name: 'Temporal namespace', where };
    } catch (error) {
      // Only the first line is shown, because the second may quote the file, which may hold a Temporal key.
      const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
      reader.wrong(asked, `cannot be used: ${reason}`);
    }
  }
  return {
    address: reader.check(address, hostPort, 'an address such as localhost:7233'),
    namespace: reader.check(namespace, temporalName, 'a namespace name') ?? 'default',
  };
}
