import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/worker/config/runtime-types.js';
import { checkBinary, findTemporalBinary, hasTemporalFile } from '../../../src/worker/temporal-server/binary.js';
import { installTemporal } from '../../../src/worker/temporal-server/download.js';
import { folderOfTest } from '../../support/files/folders.js';

// A script that answers like Temporal's program; the real program has 250 MB.
const temporal = (version: string) => `#!/bin/sh\necho "temporal version ${version}"\n`;

let dir: string;
let said: string[];
let server: Server | null = null;
const say = (sentence: string) => void said.push(sentence);
const inDir = (...parts: string[]) => join(dir, ...parts);

function put(content: string, ...parts: string[]): string {
  const path = inDir(...parts);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, 0o755);
  return path;
}

/** An environment that does not depend on this machine, with these folders on PATH. */
const bare = (...path: string[]) => ({ HOME: inDir('home'), PATH: [...path, '/bin', '/usr/bin'].join(delimiter) });

const find = (env: Record<string, string>, allowDownload = false) =>
  findTemporalBinary({ env, say, cacheDir: inDir('cache'), allowDownload });

/** Starts a download service; returns its address. */
async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server?.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a download service that offers this program in the form of Temporal's own; returns its address. */
async function offer(script: string, asked: string[] = []): Promise<string> {
  put(script, 'offer', 'temporal');
  execFileSync('tar', ['-czf', inDir('offer.tar.gz'), '-C', inDir('offer'), 'temporal']);
  const source = await serve((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/archive') response.end(readFileSync(inDir('offer.tar.gz')));
    else response.end(JSON.stringify({ archiveUrl: `${source}/archive`, fileToExtract: 'temporal' }));
  });
  return source;
}

const sumOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const install = (env: Record<string, string>, source: string, sum?: string) => {
  const offered = inDir('offer.tar.gz');
  const archiveSum = sum ?? (existsSync(offered) ? sumOf(offered) : 'none');
  return installTemporal({
    dir: inDir('cache'),
    program: 'temporal',
    env,
    say,
    check: checkBinary,
    source,
    archiveSum,
  });
};

const noService = () => serve((_, response) => response.writeHead(503).end());

beforeEach(() => {
  dir = folderOfTest();
  said = [];
});

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
});

describe.skipIf(process.platform === 'win32')('the search for the program', () => {
  it('checks TEMPORAL_CLI, then PATH, the cache of the user, and the folders of Go, in this order', async () => {
    const go = put(temporal('go'), 'home', 'go', 'bin', 'temporal');
    expect(await find(bare())).toEqual({ path: go, version: 'temporal version go' });
    const gobin = put(temporal('gobin'), 'gobin', 'temporal');
    expect((await find({ ...bare(), GOBIN: inDir('gobin') })).path).toBe(gobin);
    const user = put(temporal('user'), 'cache', 'temporal');
    expect((await find(bare())).path).toBe(user);
    const onPath = put(temporal('path'), 'tools', 'temporal');
    expect((await find(bare(inDir('tools')))).path).toBe(onPath);
    const named = put(temporal('named'), 'elsewhere', 'any-name');
    expect((await find({ ...bare(inDir('tools')), TEMPORAL_CLI: named })).path).toBe(named);
    expect(said).toEqual([]);
  });

  it('says beforehand whether there is a file to try', () => {
    const env = { ...bare(), XDG_CACHE_HOME: inDir('user-cache'), LOCALAPPDATA: inDir('user-cache') };
    expect(hasTemporalFile(env)).toBe(false);
    mkdirSync(inDir('home', 'go', 'bin', 'temporal'), { recursive: true });
    expect(hasTemporalFile(env)).toBe(false);
    put(temporal('path'), 'tools', 'temporal');
    expect(hasTemporalFile({ ...env, PATH: inDir('tools') })).toBe(true);
    expect(hasTemporalFile({ ...env, TEMPORAL_CLI: 'any' })).toBe(true);
  });

  it('refuses a TEMPORAL_CLI that is missing, does not run or is another program', async () => {
    const other = put('#!/bin/sh\necho hello\n', 'other');
    const broken = put('#!/no/such/interpreter\n', 'broken');
    for (const path of [inDir('missing'), dir, other, broken]) {
      const refused = await find({ ...bare(), TEMPORAL_CLI: path }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(UsageError);
      expect((refused as Error).message).toContain(`TEMPORAL_CLI: ${path} is not`);
    }
  });

  it('distinguishes a program that does not answer, such as a stopped one, from a wrong one', async () => {
    const stopped = put('#!/bin/sh\nkill -STOP $$\n', 'stopped', 'temporal');
    const lookup = { env: { ...bare(), TEMPORAL_CLI: stopped }, say, cacheDir: inDir('cache'), answerMs: 300 };
    const error = await findTemporalBinary(lookup).catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(UsageError);
    expect(String(error)).toContain(`${stopped} --version did not answer within 0.3 s`);
  });

  it('skips programs that do not run, and reports them', async () => {
    const broken = put('#!/bin/sh\nexit 1\n', 'tools', 'temporal');
    const good = put(temporal('good'), 'cache', 'temporal');
    expect((await find(bare(inDir('tools')))).path).toBe(good);
    expect(said).toEqual([expect.stringContaining(broken)]);
  });

  it('names every remedy if there is none and none may be installed', async () => {
    const refused = (await find(bare()).catch((error: unknown) => error)) as Error;
    expect(refused).toBeInstanceOf(UsageError);
    for (const way of ['TEMPORAL_ADDRESS', 'TEMPORAL_CLI', 'PATH', inDir('cache'), 'Go', 'temporal.download'])
      expect(refused.message).toContain(way);
    expect(existsSync(inDir('cache'))).toBe(false);
  });
});

describe.skipIf(process.platform === 'win32')('the installation of the program', () => {
  // A script in place of Go. It records its arguments and then runs `body`, which puts a program into GOBIN.
  const go = (body: string) => put(`#!/bin/sh\necho "$@" > "${inDir('go.asked')}"\n${body}\n`, 'go', 'go');
  const makes = (script: string) => `printf '%s' '${script}' > "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"`;

  it('downloads it if Go is missing, and leaves nothing else', async () => {
    const asked: string[] = [];
    const found = await install(bare(), await offer(temporal('1.5.1'), asked));
    expect(found).toEqual({ path: inDir('cache', 'temporal'), version: 'temporal version 1.5.1' });
    expect(readdirSync(inDir('cache')).sort()).toEqual(['install.lock', 'temporal']);
    expect(asked[0]).toMatch(/^\/cli\/v1\.5\.1\?arch=(amd64|arm64)&platform=(linux|darwin)&format=tar\.gz$/);
    expect(said[0]).toContain('can take some minutes');
  });

  it('opens only the known archive', async () => {
    const refused = install(bare(), await offer(temporal('1.5.1')), 'f'.repeat(64));
    await expect(refused).rejects.toThrow('download: the archive has an unexpected SHA-256');
    expect(readdirSync(inDir('cache'))).toEqual(['install.lock']);
  });

  it('shows no key to the programs that it runs, be it Go or an unknown one', async () => {
    const env = {
      SEARCHFLOW_API_KEY: 'canary',
      EXA_API_KEY: 'canary',
      PGPASSWORD: 'canary',
      TEMPORAL_API_KEY: 'canary',
    };
    const seen = `env > "${inDir('seen')}-$$"\n`;
    go(`${seen}${makes(temporal('built'))}`);
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      put(`#!/bin/sh\n${seen}exit 1\n`, 'tools', 'temporal');
      await find({ ...bare(inDir('tools')), ...env }).catch(() => null);
      await install({ ...bare(inDir('go')), ...env, GOPROXY: 'off' }, await noService());
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
      Object.assign(process.env, before);
    }
    const all = readdirSync(dir).filter((name) => name.startsWith('seen-'));
    expect(all).toHaveLength(2);
    const texts = all.map((name) => readFileSync(inDir(name), 'utf8'));
    expect(texts.join()).not.toContain('canary');
    expect(texts.join()).toContain('GOPROXY=off');
  });

  it('names the proxy of the download and its status', async () => {
    const proxy = await serve(() => undefined);
    server?.on('connect', (_, socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    const env = { ...bare(), HTTPS_PROXY: proxy.replace('//', '//user:word@') };
    await expect(install(env, 'https://temporal.example', 'none')).rejects.toThrow(
      `download: the proxy ${new URL(proxy).host} (HTTPS_PROXY) answered 502`,
    );
  });

  it('builds it with Go if the download does not answer', async () => {
    go(makes(temporal('built')));
    const found = await install(bare(inDir('go')), await noService());
    expect(found.version).toBe('temporal version built');
    expect(readFileSync(inDir('go.asked'), 'utf8')).toBe(
      'install -ldflags=-s -w github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
    );
  });

  it('installs once for all processes that ask at once', async () => {
    const asked: string[] = [];
    const source = await offer(temporal('1.5.1'), asked);
    const all = await Promise.all([1, 2, 3].map(() => install(bare(), source)));
    expect(new Set(all.map(({ path }) => path))).toEqual(new Set([inDir('cache', 'temporal')]));
    expect(asked).toHaveLength(2);
  });

  it('removes the remains of a killed installation', async () => {
    put('half', 'cache', '.install-build-1', 'temporal');
    await install(bare(), await offer(temporal('1.5.1')));
    expect(readdirSync(inDir('cache')).sort()).toEqual(['install.lock', 'temporal']);
  });

  it('does not keep a program that does not run', async () => {
    const refused = install(bare(), await offer('#!/bin/sh\nexit 1\n'));
    await expect(refused).rejects.toThrow('download: the program does not run here; Go is not on PATH');
    expect(readdirSync(inDir('cache'))).toEqual(['install.lock']);
  });

  it('names the reasons of both ways if both fail', async () => {
    go('echo "dial tcp: no such host" >&2; exit 1');
    const refused = install(bare(inDir('go')), await noService());
    await expect(refused).rejects.toThrow(
      /^download: 127\.0\.0\.1:\d+ answered 503; go install github\.com.*: dial tcp: no such host$/,
    );
  });

  it('refuses an answer that names a file outside its folder', async () => {
    const source = await serve((_, response) =>
      response.end(JSON.stringify({ archiveUrl: 'http://127.0.0.1:1/', fileToExtract: '../temporal' })),
    );
    await expect(install(bare(), source)).rejects.toThrow('fileToExtract');
  });
});
