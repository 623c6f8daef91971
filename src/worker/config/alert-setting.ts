import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type AlertType, alertTypes, type Receiver, receivers, usualAlerts } from '../../core/alerts/alert.js';
import { addressSecrets, secretParameter } from '../../core/connections/address-secrets.js';
import { isLoopback } from '../../core/connections/loopback.js';
import { isMetadata } from '../../core/connections/metadata-address.js';
import { mayHoldSecret, Secret } from '../../core/connections/secret.js';
import { nearest } from '../../core/text/nearest.js';
import type { SettingsReader } from './settings-reader.js';

/** Where alerts go, and of which events. */
export interface AlertSettings {
  /** The address of the webhook, which may hold a token; null: none. */
  readonly url: Secret | null;
  /** The secret that signs webhooks; null: they are not signed. */
  readonly secret: Secret | null;
  /** A program with its arguments, which gets each alert on its standard input; null: none. */
  readonly command: readonly string[] | null;
  readonly on: readonly AlertType[];
  /** Lag of a scheduled stream of events, in ms, above which an alert is sent; null: never. */
  readonly lagMs: number | null;
}

/** The receivers of a configuration. */
export const receiversOf = ({ url, command }: AlertSettings): readonly Receiver[] =>
  receivers.filter((one) => (one === 'webhook' ? url : command) !== null);

/** The settings as they are written; the options of the plugin have the same forms. */
export interface WrittenAlerts {
  readonly url?: string | undefined;
  readonly secret?: string | undefined;
  /** A path, or a JSON list of a path and arguments. */
  readonly command?: string | readonly string[] | undefined;
  /** Names of events, or `all`. */
  readonly on?: readonly string[] | undefined;
  /** Such as `2h`. */
  readonly lag?: string | undefined;
}

const LAG = '2h';
const LEAST_LAG_MS = 60_000;
const MOST_LAG_MS = 365 * 86_400_000;
const LEAST_SECRET = 16;
const MOST_ARGUMENTS = 50;
const MOST_CHARACTERS = 4000;

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Reads the settings of alerts from the environment; null: there is no receiver. */
export function readAlerts(reader: SettingsReader): AlertSettings | null {
  const variables = ['url', 'secret', 'command', 'on', 'lag'].map(
    (name) => [name, `SEARCHFLOW_ALERT_${name.toUpperCase()}`] as const,
  );
  const { on, ...texts } = Object.fromEntries(variables.map(([name, of]) => [name, reader.variable(of)?.text]));
  const names = Object.fromEntries(variables.map(([name, of]) => [name, reader.named(of)]));
  const types = on
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const { alerts, problems } = checkAlerts({ ...texts, on: types }, names as Record<keyof WrittenAlerts, string>);
  reader.mistakes.push(...problems);
  return alerts;
}

/**
 * Checks written settings. Returns a sentence for each problem, which never has the address or the secret. `names`: the names of the settings,
 * for these sentences.
 */
export function checkAlerts(
  { url, secret, command, on, lag = LAG }: WrittenAlerts,
  names: Readonly<Record<keyof WrittenAlerts, string>>,
): { readonly alerts: AlertSettings | null; readonly problems: readonly string[] } {
  const argv = command === undefined ? null : argvOf(command);
  const lagMs = lag === 'none' ? null : lagOf(lag);
  const noLag = Number.isNaN(lagMs) ? 'this is not a time of at least a minute, such as 30m, 2h or 1d, or none' : null;
  const found = [
    [names.url, url === undefined ? null : whyNoUrl(url)],
    [names.secret, secret === undefined ? null : whyNoSecret(secret, url !== undefined, names.url)],
    [names.command, typeof argv === 'string' ? argv : null],
    ...(on ?? []).map((one) => [names.on, whyNoEvent(one)]),
    [names.lag, noLag],
  ] as const;
  const problems = found.flatMap(([name, why]) => (why === null ? [] : [`${name}: ${why?.replace(/[^?]$/, '$&.')}`]));
  if (url === undefined && command === undefined) return { alerts: null, problems };
  const alerts = {
    url: url === undefined ? null : new Secret(url),
    secret: secret === undefined ? null : new Secret(secret),
    command: Array.isArray(argv) ? argv : null,
    on: on === undefined ? usualAlerts : on.includes('all') ? alertTypes : (on as readonly AlertType[]),
    lagMs,
  };
  return { alerts, problems };
}

function whyNoUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'the value (not shown) is not an https address';
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'the value (not shown) must begin with https, because http would send alerts unencrypted';
  if (isMetadata(url.hostname)) return 'the value (not shown) is a metadata address, to which nothing is sent';
  if (url.username !== '' || url.password !== '')
    return 'the value (not shown) has a user name or password, which are not sent. Use a token in the path or the query';
  return null;
}

function whyNoSecret(text: string, hasUrl: boolean, urlName: string): string | null {
  if (!hasUrl) return `this secret signs webhooks, and there is none. Set ${urlName}, too`;
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'the secret (not shown) has white space, a control character or a character outside ASCII';
  if (text.length < LEAST_SECRET) return `the secret (not shown) is shorter than ${LEAST_SECRET} characters`;
  return null;
}

/** The program with its arguments, or why the setting is wrong. Arguments may hold a token, so they are not shown. */
function argvOf(command: string | readonly string[]): readonly string[] | string {
  const list = typeof command === 'string' ? listOf(command) : command;
  if (list === null)
    return 'the value (not shown) is neither a path nor a JSON list such as ["/usr/local/bin/alert", "--to", "ops"]';
  const [file] = list;
  const isText = (one: unknown) => typeof one === 'string' && one.length <= MOST_CHARACTERS && !one.includes('\0');
  if (file === undefined || list.length > MOST_ARGUMENTS || !list.every(isText))
    return `the value (not shown) must be a list of a program and at most ${MOST_ARGUMENTS - 1} texts`;
  if (list.some(seemsSecret))
    return 'an argument (not shown) seems to be a secret, and other users of the machine see arguments. Let the program read it from a file';
  if (!isAbsolute(file))
    return `the program must be an absolute path, such as /usr/local/bin/alert (got ${shownPath(file)})`;
  const why = whyNotExecutable(file);
  return why === null ? list : `${shownPath(file)} ${why}`;
}

/** Whether an argument is an option or a header with the name of a secret, or an address with one. */
const seemsSecret = (argument: string): boolean =>
  secretParameter.test(/^(--?[\w-]+|[\w-]+\s*[:=])/.exec(argument)?.[0] ?? '') || addressSecrets(argument).length > 0;

/** A path for messages. A text that is no plain path, such as a whole command, may hold a token. */
const shownPath = (path: string): string =>
  /^[\w.-]*\/[\w./-]+$/.test(path) && !mayHoldSecret(path)
    ? JSON.stringify(path.slice(0, 200))
    : 'the value (not shown)';

function listOf(text: string): readonly string[] | null {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? (list as readonly string[]) : null;
  } catch {
    return null;
  }
}

function whyNotExecutable(file: string): string | null {
  try {
    if (!statSync(file).isFile()) return 'is not a file';
    accessSync(file, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? 'does not exist'
      : 'cannot be executed by this user (chmod +x)';
  }
}

function whyNoEvent(name: string): string | null {
  const known = [...alertTypes, 'all'];
  if (known.includes(name)) return null;
  const near = nearest(name, known);
  const shown = JSON.stringify(name.slice(0, 60));
  return near === null
    ? `${shown} is not an event. Events: ${alertTypes.join(', ')}; or all`
    : `${shown} is not an event; did you mean ${near}?`;
}

function lagOf(text: string): number {
  const [, number, unit] = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim()) ?? [];
  const ms = Number(number) * (unitMs[unit ?? ''] ?? Number.NaN);
  return ms >= LEAST_LAG_MS && ms <= MOST_LAG_MS ? ms : Number.NaN;
}
