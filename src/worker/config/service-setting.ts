import { isLoopback } from '../../core/connections/loopback.js';
import { Secret } from '../../core/connections/secret.js';
import { DEFAULT_BASE_URL } from '../../core/connections/service.js';
import type { Found, SettingsReader } from './settings-reader.js';

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
    if (key !== null && !/^[\x21-\x7e]+$/.test(key.text)) {
      reader.mistakes.push(
        `${key.name}: the key (environment, not shown) contains white space, a control character or a character ` +
          'outside ASCII. Copy it again without quotes or line breaks.',
      );
    }
    if (base !== null && key === null) {
      reader.mistakes.push(
        'SEARCHFLOW_BASE_URL is set without an API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY) in the environment, or unset ' +
          'SEARCHFLOW_BASE_URL to use the sandbox.',
      );
    } else if (live && key === null) {
      reader.mistakes.push('There is no API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY) in the environment.');
    }
  }
  const baseUrl = wanted === 'sandbox' || base === null ? DEFAULT_BASE_URL : readBaseUrl(reader, base);
  return live
    ? { service: 'live', origin: baseUrl, baseUrl, apiKey: key === null ? null : new Secret(key.text) }
    : { service: 'sandbox', origin: 'sandbox', baseUrl: NOWHERE, apiKey: null };
}

function readBaseUrl(reader: SettingsReader, found: Found): string {
  const wrong = (what: string, value?: string) => {
    reader.wrong(found, what, value);
    return '';
  };
  const url = URL.canParse(found.text) ? new URL(found.text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return wrong('is not an http or https address.', url?.password ? 'the value (not shown)' : undefined);
  if (url.username !== '' || url.password !== '') {
    return wrong('contains a user name or password. Give the key in SEARCHFLOW_API_KEY.', 'the value (not shown)');
  }
  if (url.search !== '' || url.hash !== '')
    return wrong('has a query or fragment. Give the address without it.', 'the value (not shown)');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return wrong('must begin with https, because http would send the key unencrypted.');
  return url.href.replace(/\/+$/, '');
}
