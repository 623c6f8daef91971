import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { createTransport, type WireOptions } from '../../../src/api/transport.js';
import type { ApiError } from '../../../src/api/wire/errors.js';
import { proxiesOf } from '../../../src/core/connections/proxies.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { VERSION } from '../../../src/core/version.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answer = { results: [], statuses: [], costDollars: { total: 0 } };
const service = (seen: object[]) =>
  listening(
    createServer((request, response) => {
      seen.push(request.headers);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    }),
  );

/** A proxy that takes requests, and passes tunnels to any host on to this machine, or refuses both with a status. */
function proxy(seen: string[], status = 200) {
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    if (status !== 200) return void response.writeHead(status).end('<h1>Corporate page</h1>');
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  server.on('connect', (request, socket) => {
    if (request.headers['user-agent'] !== `searchflow/${VERSION}`) return void socket.end('HTTP/1.1 400 No\r\n\r\n');
    seen.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const port = Number((request.url as string).split(':')[1]);
    const far = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    far.pipe(socket).pipe(far);
    for (const end of [far, socket]) end.on('error', () => far.destroy());
  });
  return listening(server);
}

async function send(baseUrl: string, options: WireOptions) {
  const transport = createTransport({ baseUrl, apiKey: new Secret('test-key'), ...options });
  try {
    return await transport.send(contentsEndpoint, { urls: ['https://a.example'] }).catch((error: ApiError) => error);
  } finally {
    await transport.close();
  }
}

describe('a request', () => {
  test('has a User-Agent with the version, and the headers of the settings', async () => {
    const seen: Record<string, string>[] = [];
    const at = await service(seen);
    await send(`http://${at}`, { headers: { 'X-Team': 'data' } });
    await send(`http://${at}`, { headers: { 'User-Agent': 'ours/1' } });
    expect(seen.map((headers) => [headers['user-agent'], headers['x-team']])).toEqual([
      [`searchflow/${VERSION}`, 'data'],
      ['ours/1', undefined],
    ]);
    expect(VERSION).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
  });

  test('a value of a header that the service repeats is not shown', async () => {
    const at = await listening(
      createServer((request, response) => response.writeHead(400).end(`no ${request.headers['x-gateway']}`)),
    );
    const error = (await send(`http://${at}`, { headers: { 'x-gateway': 'canary-of-a-gateway' } })) as ApiError;
    expect(error.message).toContain('[redacted]');
    expect(JSON.stringify(error) + error.message).not.toContain('canary');
  });
});

describe('a proxy', () => {
  test.each(['127.0.0.1', 'localhost'])('gets no request to %s, and so no key in plain text', async (host) => {
    const [seen, direct]: [string[], object[]] = [[], []];
    const [at, to] = [await proxy(seen), await service(direct)];
    const settings = proxiesOf({ HTTP_PROXY: `http://${at}`, HTTPS_PROXY: `http://${at}` });
    const port = to.split(':')[1];
    expect(await send(`http://${host}:${port}`, { proxy: settings })).toMatchObject({ status: 200 });
    expect(await send(`https://${host}:${port}`, { proxy: settings })).toMatchObject({ facts: { phase: 'connect' } });
    expect([seen.length, direct.length]).toEqual([0, 1]);
    await expect(send('http://service.example', { proxy: settings })).rejects.toThrow(/must begin with https/);
  });

  test('of HTTPS_PROXY gets a CONNECT for an https service', async () => {
    const seen: string[] = [];
    const at = await proxy(seen);
    const to = (await service([])).replace('127.0.0.1', 'service.example');
    const login = Buffer.from('user:canary').toString('base64');
    const error = (await send(`https://${to}`, { proxy: proxiesOf({ https_proxy: `user:canary@${at}` }) })) as ApiError;
    // The service speaks no TLS: the tunnel was open, and nothing was sent.
    expect(seen).toEqual([`CONNECT ${to} Basic ${login}`]);
    expect(error).toMatchObject({ facts: { phase: 'connect' }, verdict: { charged: 'never', retry: true } });
    expect(error.message).toContain('baseUrl and HTTPS_PROXY');
  });

  test.each([
    ['a.example, service.invalid', true],
    ['.invalid', true],
    ['*.invalid b.example', true],
    ['SERVICE.INVALID', true],
    ['service.invalid:9', true],
    ['service.invalid:443', false],
    ['vice.invalid', false],
    [' * ', true],
    ['a.example,*', true],
    ['', false],
  ])('is passed by for NO_PROXY "%s": %s', async (no, isDirect) => {
    const seen: string[] = [];
    const proxied = proxiesOf({ HTTPS_PROXY: `http://${await proxy(seen, 403)}`, NO_PROXY: no });
    const error = (await send('https://service.invalid:9', { proxy: proxied })) as ApiError;
    expect(error.facts).toMatchObject(isDirect ? { phase: 'connect' } : { status: 403, unrecognized: true });
    expect(seen).toHaveLength(isDirect ? 0 : 1);
  });

  test.each([
    ['a service', 407, /407 .*: a proxy before .* wants a login, and not the service; put it into HTTPS_PROXY/],
    ['a tunnel', 407, /407 .*: a proxy before .* wants a login, and not the service; put it into HTTPS_PROXY/],
    ['a service', 403, /403 .*: a gateway or proxy before .* refuses the request, and not the service.*Corporate page/],
    ['a tunnel', 403, /403 .*: a gateway or proxy before .* refuses the request, and not the service/],
  ])('in the place of %s that answers %s is named, and nothing is charged', async (place, status, message) => {
    const at = await proxy([], status);
    const proxied = proxiesOf({ HTTPS_PROXY: `http://u:canary@${at}` });
    const [to, settings] = place === 'a tunnel' ? ['https://service.invalid:9', proxied] : [`http://${at}`, null];
    const error = (await send(to, { proxy: settings })) as ApiError;
    expect(error.message).toMatch(message);
    expect(error.facts).toMatchObject({ status, unrecognized: true });
    expect(error.verdict).toEqual({ type: 'ServiceUnavailable', retry: true, charged: 'never', blocks: false });
    expect(`${error.message} ${error.cause} ${JSON.stringify(error)}`).not.toContain('canary');
  });

  test('that cannot reach the service is named', async () => {
    const at = await proxy([], 502);
    const error = (await send('https://service.invalid:9', {
      proxy: proxiesOf({ HTTPS_PROXY: `http://${at}` }),
    })) as ApiError;
    expect(error.message).toContain('the proxy (HTTPS_PROXY) cannot reach service.invalid:9: it answered 502');
    expect(error.verdict).toMatchObject({ charged: 'never', retry: true });
  });

  test.each<(address: string) => WireOptions['proxy']>([
    (address) => address,
    (address) => proxiesOf({ HTTP_PROXY: address }),
    (address) => proxiesOf({ HTTP_PROXY: 'http://other:canary@other.invalid', HTTPS_PROXY: address }),
  ])('gets a CONNECT with no login of another proxy, given as a text or in variables: %s', async (setting) => {
    const seen: string[] = [];
    await send('https://service.invalid:9', { proxy: setting(`http://${await proxy(seen, 403)}`) });
    expect(seen).toEqual(['CONNECT service.invalid:9 ']);
  });

  test.each([5, {}, { https: 'http://h:1' }])('that is no address is refused: %j', async (proxied) => {
    await expect(send('https://service.invalid:9', { proxy: proxied as never })).rejects.toThrow(
      /^proxy must be the address/,
    );
  });

  test('of a wrong address is refused without its text', async () => {
    await expect(send('https://service.invalid', { proxy: 'ftp://user:canary@h' })).rejects.toThrow(/\(not shown\)/);
    expect(() => proxiesOf({ HTTPS_PROXY: 'ftp://user:canary@h' })).toThrow(/^HTTPS_PROXY \(not shown\) must be/);
    expect(proxiesOf({ NO_PROXY: 'a' })).toBeNull();
    expect(JSON.stringify(proxiesOf({ HTTPS_PROXY: 'http://user:canary@h' }))).not.toContain('canary');
  });
});

test('a percent sign of a password that encodes nothing is read as it stands', () => {
  const logins = ['user:50%', 'user:50%25', 'user:%zz%40'].map((login) => {
    const found = proxiesOf({ HTTPS_PROXY: `http://${login}@proxy.example:3128` });
    return decodeURIComponent(new URL(found?.https?.reveal() ?? '').password);
  });
  expect(logins).toEqual(['50%', '50%', '%zz%40']);
});
