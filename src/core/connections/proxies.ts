import { isLoopback } from './loopback.js';
import { Secret } from './secret.js';

/** The proxies between this machine and the service. Their addresses may hold passwords. */
export interface Proxies {
  readonly http: Secret | null;
  readonly https: Secret | null;
  /** Hosts that are reached directly, separated by commas. */
  readonly no: string;
}

/** The address of one proxy for all requests, or the result of `proxiesOf`; null: no proxy. */
export type ProxySetting = Proxies | string | null;

/**
 * The proxies in HTTPS_PROXY, HTTP_PROXY and NO_PROXY; null if there are none. Names in lower case come first, as in other programs. Throws
 * `TypeError` for an address that is none.
 */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies | null {
  const read = (name: string): Secret | null => {
    const text = env[name.toLowerCase()] || env[name];
    if (!text) return null;
    const address = text.includes('://') ? text : `http://${text}`;
    if (!/^(https?|socks5?):\/\/[^/]/.test(address) || !URL.canParse(address))
      throw new TypeError(`${name} (not shown) must be the address of a proxy, such as http://proxy.example:3128`);
    return new Secret(decodable(address));
  };
  const [https, http, no] = [read('HTTPS_PROXY'), read('HTTP_PROXY'), env.no_proxy || env.NO_PROXY || ''];
  return (https || http) && !no.split(/[,\s]/).includes('*') ? { https, http, no } : null;
}

/** Returns an address in which each percent sign of a login that encodes nothing is encoded itself, as other programs read it. */
function decodable(address: string): string {
  const at = address.lastIndexOf('@');
  const login = address.slice(0, at + 1);
  try {
    decodeURIComponent(login);
    return address;
  } catch {
    return login.replaceAll('%', '%25') + address.slice(at + 1);
  }
}

/** The proxies for requests to a host. Requests to this machine use none: a proxy could neither reach it nor should see the key. */
export function proxiesTo(host: string, proxy: ProxySetting | undefined): Proxies | null {
  const isAddress = typeof proxy === 'string';
  const proxies = isAddress ? proxiesOf({ HTTPS_PROXY: proxy, HTTP_PROXY: proxy }) : (proxy ?? null);
  if (proxies !== null && !((Object(proxies).https ?? Object(proxies).http) instanceof Secret))
    throw new TypeError('proxy must be the address of a proxy, or the result of proxiesOf');
  return isLoopback(host) ? null : proxies;
}
