import { z } from 'zod';
import { requestHeaders } from '../../api/request.js';
import type { WireOptions } from '../../api/transport.js';
import { isLoopback } from '../../core/connections/loopback.js';
import { type Proxies, type ProxySetting, proxiesOf } from '../../core/connections/proxies.js';
import { Secret } from '../../core/connections/secret.js';
import { DEFAULT_ADMIN_URL, DEFAULT_BASE_URL } from '../../core/connections/service.js';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import type { Environment, Found, SettingsReader } from './settings-reader.js';

/** Port 1 of this machine, where nothing listens: a plan without a running sandbox must not reach another service by accident. */
const NOWHERE = 'http://127.0.0.1:1';

/** The service and its key. */
export interface ServiceSetting {
  readonly service: 'live' | 'sandbox';
  readonly origin: string;
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
}

/** Reads key and base URL. `wanted` comes from the command line; undefined: live if there is a key, else the sandbox. */
export function readService(reader: SettingsReader, wanted: 'live' | 'sandbox' | undefined): ServiceSetting {
  const key = reader.variable('SEARCHFLOW_API_KEY') ?? reader.variable('EXA_API_KEY');
  const base = reader.variable('SEARCHFLOW_BASE_URL');
  const live = wanted === undefined ? key !== null : wanted === 'live';
  if (wanted !== 'sandbox') {
    if (key !== null && !isKey(key.text)) reader.mistakes.push(notAKey(key));
    if (base !== null && key === null) {
      reader.mistakes.push(
        `${reader.named('SEARCHFLOW_BASE_URL')} is set without an API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY), or unset ` +
          'SEARCHFLOW_BASE_URL to use the sandbox.',
      );
    } else if (live && key === null) {
      reader.mistakes.push('There is no API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY) in the environment.');
    }
  }
  const baseUrl = wanted === 'sandbox' || base === null ? DEFAULT_BASE_URL : readAddress(reader, base, key?.name);
  return live
    ? { service: 'live', origin: baseUrl, baseUrl, apiKey: key === null ? null : new Secret(key.text) }
    : { service: 'sandbox', origin: 'sandbox', baseUrl: NOWHERE, apiKey: null };
}

/** Reads the options of the wire: beta tokens, headers and proxies. The sandbox, on this machine, is behind no proxy. */
export function readWire(
  reader: SettingsReader,
  env: Environment,
  { service }: Pick<ServiceSetting, 'service'>,
): WireOptions {
  const tokens = reader.variable('SEARCHFLOW_BETA');
  const beta = tokenList.safeParse(tokens?.text ?? '');
  if (tokens !== null && !beta.success)
    reader.wrong(tokens, 'is not a list of tokens such as feature-2026-08-28.', NOT_SHOWN);
  const betaHeader = reader.variable('SEARCHFLOW_BETA_HEADER')?.text;
  const found = reader.variable('SEARCHFLOW_HEADERS');
  const headers = found === null ? undefined : readHeaders(reader, found);
  try {
    requestHeaders(null, 'x-api-key', '', { ...headers, ...(betaHeader && { [betaHeader]: '' }) });
  } catch (error) {
    reader.mistakes.push(`SEARCHFLOW_HEADERS or SEARCHFLOW_BETA_HEADER: ${(error as Error).message}.`);
  }
  let proxy: Proxies | null = null;
  try {
    proxy = service === 'sandbox' ? null : proxiesOf(env);
  } catch (error) {
    reader.mistakes.push(`${(error as Error).message}.`);
  }
  return withoutUndefined({ beta: beta.data, betaHeader, headers, proxy });
}

/** Words for a value that may be a key in the wrong place. */
const NOT_SHOWN = 'the value (not shown)';

const tokenList = z
  .string()
  .transform((text) => text.split(',').map((one) => one.trim()))
  .pipe(z.array(z.string().regex(/^[\w.-]{1,100}$/)).max(50));

/** Headers as a JSON object, or as `Name: value` (or `name=value`), separated by commas or line breaks. Their values are never shown. */
function readHeaders(reader: SettingsReader, found: Found): Readonly<Record<string, string>> | undefined {
  const { text } = found;
  const pairs = text
    .split(/[,\n]/)
    .filter((one) => one.trim() !== '')
    .map((one) => /^\s*([^:=\s]+)\s*[:=]\s*(.*?)\s*$/.exec(one)?.slice(1, 3) ?? []);
  const value: unknown = text.trimStart().startsWith('{') ? parsed(text) : Object.fromEntries(pairs);
  const { data, success } = z.record(z.string().min(1), z.string()).safeParse(value);
  if (success && !pairs.some((pair) => text.trimStart()[0] !== '{' && pair.length < 2)) return data;
  reader.wrong(found, 'must be a JSON object of texts, or a list such as x-team: data, x-stage: test.', NOT_SHOWN);
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Access to the service's bill: `searchflow usage --reconcile`. */
export interface BillSetting {
  /** The address without `/team-management`; null: the address of a bill for this service is not known. */
  readonly url: string | null;
  readonly serviceKey: Secret | null;
  /** Ids of the team's API keys. */
  readonly keyIds: readonly string[];
  readonly proxy?: ProxySetting;
}

const MOST_KEYS = 50;

/** Reads the settings of the bill. The public service has a bill; that of another service needs an address. */
export function readBill(
  reader: SettingsReader,
  { service, baseUrl }: Pick<ServiceSetting, 'service' | 'baseUrl'>,
): BillSetting {
  const key = reader.variable('SEARCHFLOW_SERVICE_KEY');
  if (key !== null && !isKey(key.text)) reader.mistakes.push(notAKey(key));
  const ids = reader.variable('SEARCHFLOW_KEY_ID');
  const keyIds = [...new Set((ids?.text ?? '').split(',').map((id) => id.trim()))].filter((id) => id !== '');
  if (
    ids !== null &&
    (keyIds.length === 0 || keyIds.length > MOST_KEYS || !keyIds.every((id) => /^[\w-]{1,200}$/.test(id)))
  )
    reader.wrong(
      ids,
      `is not a list of ids of API keys such as 550e8400-e29b-41d4-a716-446655440000 (at most ${MOST_KEYS}, separated by commas).`,
    );
  const address = reader.variable('SEARCHFLOW_BILL_URL');
  const usual = service === 'live' && baseUrl === DEFAULT_BASE_URL ? DEFAULT_ADMIN_URL : null;
  return {
    url: address === null ? usual : readAddress(reader, address, 'SEARCHFLOW_SERVICE_KEY'),
    serviceKey: key === null ? null : new Secret(key.text),
    keyIds,
  };
}

const isKey = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

const notAKey = ({ name, where }: Found): string =>
  `${name}: the key (${where}, not shown) contains white space, a control character or a character ` +
  'outside ASCII. Copy it again without quotes or line breaks.';

function readAddress(reader: SettingsReader, found: Found, keyName = 'SEARCHFLOW_API_KEY'): string {
  const wrong = (what: string, value?: string) => {
    reader.wrong(found, what, value);
    return '';
  };
  const url = URL.canParse(found.text) ? new URL(found.text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return wrong('is not an http or https address.', url?.password ? 'the value (not shown)' : undefined);
  if (url.username !== '' || url.password !== '') {
    return wrong(`contains a user name or password. Give the key in ${keyName}.`, 'the value (not shown)');
  }
  if (url.search !== '' || url.hash !== '')
    return wrong('has a query or fragment. Give the address without it.', 'the value (not shown)');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return wrong('must begin with https, because http would send the key unencrypted.');
  return url.href.replace(/\/+$/, '');
}
