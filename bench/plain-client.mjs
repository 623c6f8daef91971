import { createRequire } from 'node:module';
import { Pool } from 'undici';

export const CONCURRENCY = 32;

/**
 * The requests of a plain script for rows. `client`: absent for `fetch`; `undici` for a pool of connections, which takes half the CPU;
 * otherwise the path of an installed exa-js, which sends the requests.
 */
export function contentsClient(base, client) {
  const path = '/contents';
  const method = 'POST';
  const headers = { 'content-type': 'application/json', 'x-api-key': 'plain' };
  const bodyOf = (urls) => JSON.stringify({ urls, text: true });
  if (client === undefined) {
    const contentsOf = async (urls) => (await fetch(base + path, { method, headers, body: bodyOf(urls) })).json();
    return { contentsOf, close: async () => undefined };
  }
  if (client !== 'undici') {
    const exa = new (createRequire(import.meta.url)(client).Exa)('exa-js', base);
    return { contentsOf: (urls) => exa.getContents(urls, { text: true }), close: async () => undefined };
  }
  const pool = new Pool(base, { connections: CONCURRENCY });
  const contentsOf = async (urls) => (await pool.request({ path, method, headers, body: bodyOf(urls) })).body.json();
  return { contentsOf, close: () => pool.close() };
}
