import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { createTransport } from '../../../src/api/transport.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { connectProblem } from '../../../src/core/connections/connect-problem.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { closeAfterTest } from '../../support/after-test.js';
import { answer, rawServer } from '../../support/api/raw-server.js';
import { certificate, privateKey } from '../../support/api/self-signed.js';

async function failure(baseUrl: string): Promise<ApiError> {
  const transport = createTransport({ baseUrl, apiKey: new Secret('canary-7f3a9c-key'), timeouts: { connectMs: 500 } });
  closeAfterTest(transport);
  const error: unknown = await transport
    .send(contentsEndpoint, { urls: ['https://a.example'] })
    .catch((e: unknown) => e);
  if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, got ${String(error)}`);
  return error;
}

describe('fault 14: a service that cannot be reached', () => {
  test('refused connections and unknown hosts name the setting and were never charged', async () => {
    const server = await rawServer(() => undefined);
    await server.close();
    const refused = await failure(server.url);
    expect(refused.message).toBe(
      `POST /contents: cannot reach 127.0.0.1:${server.port}: connection refused [ECONNREFUSED]; ` +
        'the address is set by baseUrl',
    );
    expect(refused.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'never' });
    const unknown = await failure('https://no-such-host.invalid');
    expect(unknown.message).toMatch(/cannot reach no-such-host\.invalid: .*DNS.*baseUrl/);
    expect(unknown.facts.phase).toBe('connect');
  });

  test('an untrusted certificate is named, and the key is not sent', async () => {
    let bytes = 0;
    const server = createServer({ cert: certificate, key: privateKey }, (socket) =>
      socket.on('data', (d) => (bytes += d.length)),
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closeAfterTest(server);
    const error = await failure(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(error.message).toMatch(/its certificate is self-signed \[DEPTH_ZERO_SELF_SIGNED_CERT\]; .*baseUrl/);
    expect(error.facts.phase).toBe('connect');
    expect(bytes).toBe(0);
  });

  test('a server without TLS is named', async () => {
    const server = await rawServer(() => undefined);
    closeAfterTest(server);
    server.onConnection((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const error = await failure(`https://127.0.0.1:${server.port}`);
    expect(error.message).toContain('does not speak TLS');
    expect(error.facts.phase).toBe('connect');
  });

  test('a proxy that requires credentials names the setting', async () => {
    const server = await rawServer((_request, socket) => socket.write(answer(407, '')));
    closeAfterTest(server);
    const error = await failure(server.url);
    expect(error.message).toMatch(/^POST \/contents: 407 .*: a proxy .* HTTPS_PROXY, or correct baseUrl$/);
    expect(error.verdict).toMatchObject({ type: 'ServiceUnavailable', retry: true, charged: 'never' });
  });

  test.each<[string | null, RegExp]>([
    ['CERT_HAS_EXPIRED', /certificate has expired/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /certificate is for another name/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /certificate chain is incomplete/],
    ['EAI_AGAIN', /DNS/],
    ['UND_ERR_CONNECT_TIMEOUT', /timed out/],
    ['EMFILE', /file handles/],
    ['ERR_SSL_SOMETHING_NEW', /TLS failed/],
    ['EWHATEVER', /the connection failed \[EWHATEVER\]/],
    [null, /the connection failed;/],
  ])('%s has a message in words', (code, words) => {
    expect(connectProblem(code, 'api.example', 'baseUrl')).toMatch(words);
  });
});
