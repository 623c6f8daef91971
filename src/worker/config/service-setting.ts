import { isLoopback } from '../../core/text/loopback.js';
import { Secret } from '../../core/text/secret.js';
import { DEFAULT_BASE_URL } from '../../core/text/service.js';
import type { Found, SettingsReader } from './settings-reader.js';

/** Port 1 of this machine: a command that plans without a sandbox must not meet another service by accident. */
const NOWHERE = 'http://127.0.0.1:1';

/** Which service is worked on, with what key. */
export interface ServiceSetting {
  readonly service: 'live' | 'sandbox';
  readonly origin: string;
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
}

/** Reads key and base URL. `wanted` is what the command line says; by default the key decides. */
export function readService(reader: SettingsReader, wanted: 'live' | 'sandbox' | undefined): ServiceSetting {
  const key = reader.variable('SEARCHFLOW_API_KEY') ?? reader.variable('EXA_API_KEY');
  const base = reader.variable('SEARCHFLOW_BASE_URL');
  const live = wanted === undefined ? key !== null : wanted === 'live';
  if (wanted !== 'sandbox') {
    if (key !== null && !/^[\x21-\x7e]+$/.test(key.text)) {
      reader.mistakes.push(
        `${key.name}: the key (environment, not shown) holds white space, a control character or a character ` +
          'outside ASCII; copy it again without quotes or line ends.',
      );
    }
    if (base !== null && key === null) {
      reader.mistakes.push(
        'SEARCHFLOW_BASE_URL is set but there is no key: SEARCHFLOW_API_KEY and EXA_API_KEY were looked for in the ' +
          'environment. Set one, or unset SEARCHFLOW_BASE_URL to work on the sandbox.',
      );
    } else if (live && key === null) {
      reader.mistakes.push('No API key: SEARCHFLOW_API_KEY and EXA_API_KEY were looked for in the environment.');
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
    return wrong('is not an http or https address.', url?.password ? 'the value' : undefined);
  if (url.username !== '' || url.password !== '') {
    return wrong('holds a user name or password; the key belongs in SEARCHFLOW_API_KEY.', 'the value (not shown)');
  }
  if (url.search !== '' || url.hash !== '')
    return wrong('has a query or fragment; give the address alone.', 'the value (not shown)');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return wrong('must begin with https: the key would cross the network unencrypted.');
  return url.href.replace(/\/+$/, '');
}
