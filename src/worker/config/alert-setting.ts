import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type AlertType, alertTypes, type Receiver, receivers } from '../../core/alerts/alert.js';
import { addressSecrets, secretParameter } from '../../core/connections/address-secrets.js';
import { isLoopback } from '../../core/connections/loopback.js';
import { isMetadata } from '../../core/connections/metadata-address.js';
import { mayHoldSecret, Secret } from '../../core/connections/secret.js';
import { DAY_MS, parseDuration } from '../../core/text/duration.js';
import { nearest } from '../../core/text/nearest.js';
import { keySetting } from './service-setting.js';
import { Wrong } from './setting.js';

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

export const receiversOf = ({ url, command }: AlertSettings): readonly Receiver[] =>
  receivers.filter((one) => (one === 'webhook' ? url : command) !== null);

const LEAST_LAG_MS = 60_000;
const MOST_LAG_MS = 365 * DAY_MS;
const LEAST_SECRET = 16;
const MOST_ARGUMENTS = 50;
const MOST_CHARACTERS = 4000;

export function alertUrl(text: string): Secret {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Wrong('is not an https address');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Wrong('must begin with https, because http would send alerts unencrypted');
  if (isMetadata(url.hostname)) throw new Wrong('is a metadata address, to which nothing is sent');
  if (url.username !== '' || url.password !== '')
    throw new Wrong('has a user name or password, which are not sent. Use a token in the path or the query');
  return new Secret(text);
}

export function alertSecret(text: string): Secret {
  if (text.length < LEAST_SECRET) throw new Wrong(`is shorter than ${LEAST_SECRET} characters`);
  return keySetting(text);
}

/** The mistake of a secret without a webhook. */
export const loneSecret = (secret: string, url: string): string =>
  `${secret}: this secret signs webhooks, and there is none. Set ${url}, too.`;

/** Reads a path, or a JSON list of a path and arguments. */
export function readArgv(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    return JSON.parse(text);
  } catch {
    throw new Wrong('is neither a path nor a JSON list such as ["/usr/local/bin/alert", "--to", "ops"]');
  }
}

/** Checks a program with its arguments. Arguments may hold a token, so they are not shown. */
export function alertCommand(argv: readonly string[]): readonly string[] {
  const [file] = argv;
  const isText = (one: unknown) => typeof one === 'string' && one.length <= MOST_CHARACTERS && !one.includes('\0');
  if (file === undefined || argv.length > MOST_ARGUMENTS || !argv.every(isText))
    throw new Wrong(`must be a list of a program and at most ${MOST_ARGUMENTS - 1} texts`);
  if (argv.some(seemsSecret))
    throw new Wrong(
      'seems to be a secret, and other users of the machine see arguments. Let the program read it from a file',
      'an argument (not shown)',
    );
  if (!isAbsolute(file))
    throw new Wrong('must be the absolute path of a program, such as /usr/local/bin/alert', shownPath(file));
  const why = whyNotExecutable(file);
  if (why !== null) throw new Wrong(why, shownPath(file));
  return argv;
}

/** Whether an argument is an option or a header with the name of a secret, or an address with one. */
const seemsSecret = (argument: string): boolean =>
  secretParameter.test(/^(--?[\w-]+|[\w-]+\s*[:=])/.exec(argument)?.[0] ?? '') || addressSecrets(argument).length > 0;

/** A path for messages. A text that is no plain path, such as a whole command, may hold a token. */
const shownPath = (path: string): string =>
  /^[\w.-]*\/[\w./-]+$/.test(path) && !mayHoldSecret(path)
    ? JSON.stringify(path.slice(0, 200))
    : 'the value (not shown)';

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

/** The events with these names; `all`: each event. */
export function alertEventsOf(names: readonly string[]): readonly AlertType[] {
  const known = [...alertTypes, 'all'];
  const wrong = names.find((name) => !known.includes(name));
  if (wrong === undefined) return names.includes('all') ? alertTypes : (names as readonly AlertType[]);
  const near = nearest(wrong, known);
  const help = near === null ? `. Events: ${alertTypes.join(', ')}; or all` : `; did you mean ${near}?`;
  throw new Wrong(`is not an event${help}`, JSON.stringify(wrong.slice(0, 60)));
}

/** A lag in ms; null: `none`. */
export function alertLag(text: string): number | null {
  if (text === 'none') return null;
  const ms = parseDuration(text) ?? Number.NaN;
  if (ms >= LEAST_LAG_MS && ms <= MOST_LAG_MS) return ms;
  throw new Error('is not a time of at least a minute, such as 30m, 2h or 1d, or none');
}
