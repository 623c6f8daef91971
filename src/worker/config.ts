import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { loadClientConfigProfile } from '@temporalio/envconfig';
import { z } from 'zod';
import { DEFAULT_TASK_QUEUE } from '../core/job.js';
import { rateProfiles } from '../core/rate.js';
import { Secret } from '../core/secret.js';
import { DEFAULT_BASE_URL } from '../core/service.js';
import { misspeltVariables } from './misspelt-variables.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';

/** A week: long enough to notice that a warehouse was deleted. */
export const DEFAULT_KEEP_LANDING_MS = 7 * 86_400_000;

/** Port 1 of this machine: a command that plans without a sandbox must not meet another service by accident. */
const NOWHERE = 'http://127.0.0.1:1';

/** What a command line says of the settings; texts as typed, so that all mistakes are reported together. */
export interface ConfigFlags {
  readonly qps?: string;
  readonly rateProfile?: string;
  readonly concurrency?: string;
  /** Days. */
  readonly keepLanding?: string;
  /** `sandbox` ignores key and base URL, `live` demands a key; by default the key decides. */
  readonly service?: 'live' | 'sandbox';
}

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: ConfigFlags;
  readonly cwd: string;
  readonly say: RuntimeConfig['say'];
}

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(1).max(most));
const MAX_QPS = 10_000;
const MAX_CONCURRENCY = 256;

const hostPort = z
  .string()
  .regex(/^(\[[0-9a-f:.]+\]|[^\s:/@]+):\d{1,5}$/i)
  .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535);
const name = z.string().regex(/^[^\s\p{Cc}]{1,200}$/u);

interface Found {
  readonly text: string;
  readonly name: string;
  readonly where: string;
}

/**
 * Makes the one configuration from flags and environment; flags win. Throws a {@link UsageError} that names every
 * mistake, a line each, with the value and where it was found; never a key. Touches neither network nor disk, but for
 * Temporal's own configuration file where `TEMPORAL_CONFIG_FILE` or `TEMPORAL_PROFILE` asks for it.
 *
 * Without a key the service is the sandbox; `baseUrl` is a place where nothing listens until whoever starts it fills it in.
 */
export function readConfig({ env, flags, cwd, say }: ConfigSources): RuntimeConfig {
  const mistakes: string[] = [];
  const variable = (key: string): Found | null => {
    const text = env[key];
    return text === undefined || text === '' ? null : { text, name: key, where: 'environment' };
  };
  const flag = (text: string | undefined, option: string): Found | null =>
    text === undefined ? null : { text, name: option, where: 'command line' };
  const check = <T>(found: Found | null, schema: z.ZodType<T, string>, wanted: string): T | null => {
    if (found === null) return null;
    const result = schema.safeParse(found.text);
    if (result.success) return result.data;
    mistakes.push(`${found.name}: ${shown(found.text, env)} (${found.where}) is not ${wanted}.`);
    return null;
  };

  for (const warning of misspeltVariables(env)) say(warning);

  const keyFound = variable('SEARCHFLOW_API_KEY') ?? variable('EXA_API_KEY');
  const baseFound = variable('SEARCHFLOW_BASE_URL');
  const live = flags.service === undefined ? keyFound !== null : flags.service === 'live';
  if (flags.service !== 'sandbox') {
    if (keyFound !== null && !/^[\x21-\x7e]+$/.test(keyFound.text)) {
      mistakes.push(
        `${keyFound.name}: the key (environment, not shown) holds white space, a control character or a character ` +
          'outside ASCII; copy it again without quotes or line ends.',
      );
    }
    if (baseFound !== null && keyFound === null) {
      mistakes.push(
        'SEARCHFLOW_BASE_URL is set but there is no key: SEARCHFLOW_API_KEY and EXA_API_KEY were looked for in the ' +
          'environment. Set one, or unset SEARCHFLOW_BASE_URL to work on the sandbox.',
      );
    } else if (live && keyFound === null) {
      mistakes.push('No API key: SEARCHFLOW_API_KEY and EXA_API_KEY were looked for in the environment.');
    }
  }
  const baseUrl =
    flags.service === 'sandbox' || baseFound === null ? DEFAULT_BASE_URL : readBaseUrl(baseFound, env, mistakes);

  const rate = readRate();
  const concurrency = check(
    flag(flags.concurrency, '--concurrency') ?? variable('SEARCHFLOW_CONCURRENCY'),
    wholeNumber(MAX_CONCURRENCY),
    `a whole number from 1 to ${MAX_CONCURRENCY}`,
  );
  const taskQueue = check(
    variable('SEARCHFLOW_TASK_QUEUE'),
    name,
    'the name of a task queue (no white space, at most 200 characters)',
  );
  const keepDays = check(
    flag(flags.keepLanding, '--keep-landing') ?? variable('SEARCHFLOW_KEEP_LANDING_DAYS'),
    wholeNumber(36_500),
    'a whole number of days from 1',
  );
  const temporal = readTemporal();
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));

  const stateDir = resolve(cwd, env.SEARCHFLOW_STATE_DIR || '.searchflow');
  return Object.freeze({
    service: live ? 'live' : 'sandbox',
    origin: live ? baseUrl : 'sandbox',
    baseUrl: live ? baseUrl : NOWHERE,
    apiKey: live && keyFound !== null ? new Secret(keyFound.text) : null,
    stateDir,
    userStateDir: userStateDir(env),
    rate,
    rateIsShare: flags.qps !== undefined,
    concurrency: concurrency ?? Math.min(MAX_CONCURRENCY, 5 * contentsQps(rate)),
    keepLandingMs: keepDays === null ? DEFAULT_KEEP_LANDING_MS : keepDays * 86_400_000,
    temporalAddress: temporal.address,
    namespace: temporal.namespace,
    taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE,
    say,
  } satisfies RuntimeConfig);

  function readRate(): RuntimeConfig['rate'] {
    const sources = [
      [flag(flags.qps, '--qps'), flag(flags.rateProfile, '--rate-profile')],
      [variable('SEARCHFLOW_QPS'), variable('SEARCHFLOW_RATE_PROFILE')],
    ] as const;
    for (const [qpsFound, profileFound] of sources) {
      const qps = check(qpsFound, wholeNumber(MAX_QPS), `a whole number of requests a second from 1 to ${MAX_QPS}`);
      const known = Object.keys(rateProfiles);
      const profile = check(profileFound, z.enum(known), `a rate profile; there are ${known.join(', ')}`);
      if (qpsFound !== null && profileFound !== null) {
        mistakes.push(`${qpsFound.name} and ${profileFound.name} (${qpsFound.where}) contradict each other; give one.`);
      }
      if (profile !== null) return { profile };
      if (qps !== null) return { qps };
    }
    return { profile: 'contract' };
  }

  function readTemporal(): { address: string | null; namespace: string } {
    const asked = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE']
      .map(variable)
      .find((found) => found !== null);
    let address: Found | null = null;
    let namespace = variable('TEMPORAL_NAMESPACE');
    if (asked) {
      const overrides = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
      try {
        const profile = loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(overrides) });
        const where = `${asked.name} in the environment`;
        if (profile.address) address = { text: profile.address, name: 'Temporal address', where };
        if (profile.namespace) namespace = { text: profile.namespace, name: 'Temporal namespace', where };
      } catch (error) {
        // Only the first line: a parser's second one may quote the file, which may hold a Temporal key.
        const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
        mistakes.push(`${asked.name}: ${shown(asked.text, env)} (environment) can't be used: ${reason}`);
      }
    }
    return {
      address: check(address, hostPort, 'an address such as localhost:7233'),
      namespace: check(namespace, name, 'the name of a namespace') ?? 'default',
    };
  }
}

/** Requests for page contents a second that this rate allows. */
export function contentsQps(rate: RuntimeConfig['rate']): number {
  if ('qps' in rate) return rate.qps;
  const buckets = rateProfiles[rate.profile]?.buckets ?? [];
  const mine = buckets.filter((bucket) => bucket.classes.some((drawn) => drawn === '*' || drawn === 'contents'));
  return Math.min(...mine.map((bucket) => bucket.qps), MAX_QPS);
}

/** The user's directory for state that outlives a project, by the XDG rules: relative paths in the variable are ignored. */
function userStateDir(env: ConfigSources['env']): string {
  const xdg = env.XDG_STATE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(env.HOME || homedir(), '.local', 'state'), 'searchflow');
}

function readBaseUrl(found: Found, env: ConfigSources['env'], mistakes: string[]): string {
  const wrong = (what: string, value = shown(found.text, env)) => {
    mistakes.push(`${found.name}: ${value} (${found.where}) ${what}`);
    return '';
  };
  const url = URL.canParse(found.text) ? new URL(found.text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return wrong('is not an http or https address.', url?.password ? 'the value' : undefined);
  if (url.username !== '' || url.password !== '') {
    return wrong('holds a user name or password; the key belongs in SEARCHFLOW_API_KEY.', 'the value (not shown)');
  }
  if (url.search !== '' || url.hash !== '')
    return wrong('has a query or fragment; give the address alone.', 'the value (not shown)');
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !loopback)
    return wrong('must begin with https: the key would cross the network unencrypted.');
  return url.href.replace(/\/+$/, '');
}

/** A value as a message may show it: short, printable, and never one that holds a key. */
function shown(text: string, env: ConfigSources['env']): string {
  const secrets = ['SEARCHFLOW_API_KEY', 'EXA_API_KEY', 'TEMPORAL_API_KEY'].map((key) => env[key]?.trim());
  if (secrets.some((secret) => secret && text.includes(secret))) return 'the value (not shown, it holds a key)';
  const flat = text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
  return `'${flat.length > 80 ? `${flat.slice(0, 80)}…` : flat}'`;
}
