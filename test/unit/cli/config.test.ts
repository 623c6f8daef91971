import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type ConfigFlags, readConfig } from '../../../src/worker/config/config.js';
import { UsageError } from '../../../src/worker/config/runtime-types.js';
import { folderOfTest } from '../../support/files/folders.js';

const key = 'canary-5f2e91c4';

function read(env: Record<string, string>, flags: ConfigFlags = {}) {
  const said: string[] = [];
  return { config: readConfig({ env, flags, cwd: '/data', say: (line) => said.push(line) }), said };
}

function mistakes(env: Record<string, string>, flags: ConfigFlags = {}): string {
  try {
    read(env, flags);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('no mistake was found');
}

describe('readConfig', () => {
  it('refuses a state folder that is a file or below one, and names the setting', () => {
    const dir = folderOfTest();
    const file = join(dir, 'ok.csv');
    writeFileSync(file, '');
    expect(mistakes({ SEARCHFLOW_STATE_DIR: file })).toBe(
      `SEARCHFLOW_STATE_DIR: '${file}' (environment) is a file, not a folder. Name another folder, or remove that file.`,
    );
    expect(mistakes({ SEARCHFLOW_STATE_DIR: join(file, 'state') })).toContain(
      `(environment) cannot be made: '${file}' is a file, not a folder.`,
    );
  });

  it('uses the sandbox if no key is set', () => {
    const { config } = read({});
    expect(config).toMatchObject({
      service: 'sandbox',
      origin: 'sandbox',
      baseUrl: 'http://127.0.0.1:1',
      apiKey: null,
      namespace: 'default',
    });
    expect(config).toMatchObject({ stateDir: '/data/.searchflow', taskQueue: 'searchflow', temporalAddress: null });
    expect(config).toMatchObject({ rate: { profile: 'contract' }, concurrency: 50 });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('uses the public service if a key is set, under either name', () => {
    for (const name of ['SEARCHFLOW_API_KEY', 'EXA_API_KEY']) {
      const { config } = read({ [name]: key });
      expect(config).toMatchObject({ service: 'live', origin: 'https://api.exa.ai', baseUrl: 'https://api.exa.ai' });
      expect(config.apiKey?.reveal()).toBe(key);
      expect(config.wire?.setting).toBe('SEARCHFLOW_BASE_URL');
      expect(inspect(config, { depth: 5 }) + JSON.stringify(config)).not.toContain(key);
    }
  });

  it('treats an empty variable as not set', () => {
    expect(read({ SEARCHFLOW_API_KEY: '', SEARCHFLOW_QPS: '', SEARCHFLOW_STATE_DIR: '' }).config).toEqual({
      ...read({}).config,
      say: expect.any(Function),
    });
  });

  it('prefers the command line to the environment', () => {
    const { config } = read({ SEARCHFLOW_QPS: '3', SEARCHFLOW_CONCURRENCY: '4' }, { qps: '25' });
    expect(config).toMatchObject({ rate: { qps: 25 }, concurrency: 4 });
    expect(read({ SEARCHFLOW_QPS: '3' }, { rateProfile: 'public' }).config).toMatchObject({
      rate: { profile: 'public' },
      concurrency: 256,
    });
  });

  it('uses the sandbox if it was requested, with or without a key', () => {
    const { config } = read({ SEARCHFLOW_API_KEY: 'not a key', SEARCHFLOW_BASE_URL: 'x' }, { service: 'sandbox' });
    expect(config).toMatchObject({ service: 'sandbox', apiKey: null });
  });

  it('reports all mistakes at once, each by name, value and source (fault 54)', () => {
    const text = mistakes(
      {
        SEARCHFLOW_BASE_URL: 'ftp://example.com',
        SEARCHFLOW_QPS: '0',
        SEARCHFLOW_RATE_PROFILE: 'quick',
        SEARCHFLOW_CONCURRENCY: 'many',
        SEARCHFLOW_TASK_QUEUE: 'a b',
        TEMPORAL_ADDRESS: 'http://localhost:7233',
      },
      { service: 'live' },
    );
    expect(text.split('\n')).toEqual([
      expect.stringMatching(/^SEARCHFLOW_BASE_URL: 'ftp:\/\/example.com' \(environment\)/),
      expect.stringMatching(/^SEARCHFLOW_QPS: '0' \(environment\) is not a whole number/),
      expect.stringMatching(/^SEARCHFLOW_RATE_PROFILE: 'quick' \(environment\) .*contract, boost, public/),
      expect.stringMatching(/^SEARCHFLOW_CONCURRENCY: 'many'/),
      expect.stringMatching(/^SEARCHFLOW_TASK_QUEUE: 'a b'/),
      expect.stringMatching(/^Temporal address: 'http:\/\/localhost:7233' \(TEMPORAL_ADDRESS in the environment\)/),
      expect.stringMatching(/^SEARCHFLOW_BASE_URL is set without an API key.*EXA_API_KEY/),
      expect.stringMatching(/^SEARCHFLOW_QPS: '0' \(environment\) and SEARCHFLOW_RATE_PROFILE cannot be combined/),
    ]);
  });

  it.each([
    ['SEARCHFLOW_HOSTS', 'u:canary@h:5432'],
    ['SEARCHFLOW_RATE_PROFILE', 'postgres://u:canary@h'],
    ['SEARCHFLOW_RATE_PROFILE', 'postgres://u:canary@h/x.json'],
    ['SEARCHFLOW_PRICES', 'postgres://u:canary@h/prices.json'],
    ['SEARCHFLOW_QPS', 'Bearer canary'],
    ['SEARCHFLOW_BASE_URL', 'https//u:canary@h'],
    ['TEMPORAL_ADDRESS', 'u:canary@h'],
    ['TEMPORAL_NAMESPACE', 'host=h password=canary'],
    ...['QPS', 'PRICES', 'RATE_PROFILE', 'METRICS', 'BASE_URL', 'TEMPORAL_UI', 'CONCURRENCY'].flatMap((of) =>
      ['9f1c0d3e-canary12-4abc-8def', 'sk_canary', 'canary7Xq2Lm9Zt4Rv8Bn3'].map((text) => [`SEARCHFLOW_${of}`, text]),
    ),
  ])('shows no password that is in a wrong %s', (name, value) => {
    const text = mistakes({ SEARCHFLOW_API_KEY: key, [name]: value });
    expect(text).toContain('(not shown');
    expect(text).not.toContain('canary');
  });

  it.each(['1.5', '-1', '1e3', ' 5', '10001', '٣'])('refuses a rate of %s', (qps) => {
    expect(mistakes({}, { qps })).toMatch(/^--qps: .*command line.* is not a whole number/);
  });

  it.each([`${key} `, `${key}\n`, `"${key}"é`, `a\u200b${key}`, '   '])(
    'refuses a key with odd characters without printing it',
    (bad) => {
      const text = mistakes({ SEARCHFLOW_API_KEY: bad });
      expect(text).toContain('SEARCHFLOW_API_KEY: the value (not shown) (environment) has white space');
      expect(text).not.toContain(key);
    },
  );

  it('refuses an empty name for a warehouse', () => {
    for (const into of ['', ' '])
      expect(mistakes({}, { into })).toBe(
        `--into: '${into}' (command line) is not a warehouse; give the path of a DuckDB file, or postgres://host:5432/database.`,
      );
  });

  it('shows the form of an address for an invalid --into, without showing the value', () => {
    expect(mistakes({}, { into: 'postgres://ann:canary@host:abc/db' })).toBe(
      '--into: the value (not shown) (command line) is not an address such as postgres://host:5432/database.',
    );
  });

  it('never prints a key that is the value of another setting', () => {
    expect(mistakes({ SEARCHFLOW_API_KEY: key, SEARCHFLOW_QPS: key })).not.toContain(key);
    expect(mistakes({ SEARCHFLOW_API_KEY: key, SEARCHFLOW_BASE_URL: `https://u:${key}@example.com` })).not.toContain(
      key,
    );
    expect(
      mistakes({ SEARCHFLOW_API_KEY: 'other', SEARCHFLOW_BASE_URL: `https://u:${key}@example.com` }),
    ).not.toContain(key);
    expect(mistakes({ SEARCHFLOW_API_KEY: 'other', SEARCHFLOW_BASE_URL: `https://x.org/?key=${key}` })).not.toContain(
      key,
    );
  });

  it.each([
    ['http://example.com', 'must begin with https'],
    ['http://localhost.example.com', 'must begin with https'],
    ['example.com', 'is not an http or https address'],
    ['https://user@example.com', 'user name or password'],
    ['https://example.com/?a=b', 'query or fragment'],
  ])('refuses the base URL %s', (url, reason) => {
    expect(mistakes({ SEARCHFLOW_API_KEY: key, SEARCHFLOW_BASE_URL: url })).toContain(reason);
  });

  it.each(['http://localhost:8080/', 'http://127.0.0.1:8080', 'http://[::1]:1', 'https://example.com/v2//'])(
    'accepts the base URL %s and removes its last slash',
    (url) => {
      const { config } = read({ SEARCHFLOW_API_KEY: key, SEARCHFLOW_BASE_URL: url });
      expect(config.baseUrl).toBe(url.replace(/\/+$/, ''));
      expect(config.origin).toBe(config.baseUrl);
    },
  );

  it('reads Temporal address and namespace from the environment', () => {
    const address = { TEMPORAL_ADDRESS: 'temporal.internal:7233' };
    const { config } = read({ ...address, TEMPORAL_TLS: 'true', TEMPORAL_NAMESPACE: 'etl' });
    expect(config).toMatchObject({ temporalAddress: 'temporal.internal:7233', namespace: 'etl' });
    for (const [name, value] of Object.entries({
      TEMPORAL_TLS: 'false',
      TEMPORAL_API_KEY: 'k',
      TEMPORAL_TLS_SERVER_NAME: 'x',
    }))
      expect(read({ ...address, [name]: value }).config.temporalAddress).toBe('temporal.internal:7233');
    for (const local of ['localhost:1', '127.0.0.1:1', '[::1]:1'])
      expect(read({ TEMPORAL_ADDRESS: local }).config.temporalAddress).toBe(local);
    for (const remote of ['temporal.internal:7233', '10.0.0.1:1', '127.0.0.1.evil.example:1'])
      expect(mistakes({ TEMPORAL_ADDRESS: remote })).toMatch(/has no TLS. Set TEMPORAL_TLS=true/);
  });

  it('reads the version of a worker and the data converter, and refuses half of them', () => {
    const converter = fileURLToPath(import.meta.url);
    const { config } = read({
      TEMPORAL_DEPLOYMENT_NAME: 'searchflow',
      TEMPORAL_WORKER_BUILD_ID: 'b7',
      SEARCHFLOW_DATA_CONVERTER: converter,
    });
    expect(config).toMatchObject({
      deployment: { deploymentName: 'searchflow', buildId: 'b7' },
      dataConverterPath: converter,
      encrypts: undefined,
    });
    expect(mistakes({ TEMPORAL_WORKER_BUILD_ID: 'b7' })).toMatch(
      /^TEMPORAL_DEPLOYMENT_NAME is missing: .* set both or none/,
    );
    expect(mistakes({ SEARCHFLOW_ENCRYPT: 'yes' })).toMatch(/^SEARCHFLOW_ENCRYPT: 'yes' \(environment\) is not 0 or 1/);
    expect(mistakes({ SEARCHFLOW_ENCRYPT: '1', TEMPORAL_ADDRESS: 'a:1' })).toMatch(/is for the embedded server/);
    expect(mistakes({ SEARCHFLOW_ENCRYPT: '1', SEARCHFLOW_DATA_CONVERTER: converter })).toMatch(/cannot be combined/);
    expect(mistakes({ SEARCHFLOW_DATA_CONVERTER: './nope.js', SEARCHFLOW_QPS: 'x' })).toMatch(
      /SEARCHFLOW_QPS: .*\n.*SEARCHFLOW_DATA_CONVERTER: '\.\/nope\.js' \(environment\) does not exist/,
    );
  });

  it("reads OpenTelemetry's variables for metrics, and warns of those it cannot use", () => {
    const of = (env: Record<string, string>) => {
      const { config, said } = read(env);
      return [config.otlpMetrics?.url ?? null, said.join('\n')];
    };
    const [shared, own] = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'];
    const at = 'http://otel.internal:4318';
    expect(of({})).toEqual([null, '']);
    expect(of({ [shared]: `${at}/` })).toEqual([`${at}/v1/metrics`, '']);
    expect(of({ [shared]: at, [own]: 'https://metrics.internal/in' })).toEqual(['https://metrics.internal/in', '']);
    // The port of Prometheus stays unless metrics have an endpoint of their own, or the exporter is named.
    const prometheus = { SEARCHFLOW_METRICS: '127.0.0.1:9464' };
    expect(of({ ...prometheus, [shared]: at })).toEqual([null, '']);
    expect(of({ ...prometheus, [own]: at })).toEqual([at, '']);
    expect(of({ ...prometheus, [shared]: at, OTEL_METRICS_EXPORTER: 'otlp' })).toEqual([`${at}/v1/metrics`, '']);
    for (const [name, off] of [
      ['OTEL_METRICS_EXPORTER', 'none'],
      ['OTEL_SDK_DISABLED', 'true'],
    ] as const)
      expect(of({ [own]: at, [name]: off })).toEqual([null, '']);
    expect(
      read({
        [shared]: 'http://otel.internal:4317',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_METRIC_EXPORT_INTERVAL: '5000',
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'Delta',
      }).config.otlpMetrics,
    ).toEqual({
      ...{ url: 'http://otel.internal:4317', http: false, metricsExportInterval: 5000, temporality: 'delta' },
    });

    expect(of({ [own]: `user:${key}@otel` })).toEqual([
      null,
      `Warning: ${own}: the value (not shown, it may contain a password) (environment) is not an address such as http://127.0.0.1:4318, so no metrics are sent.`,
    ]);
    expect(of({ [shared]: at, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })).toEqual([
      null,
      "Warning: OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' (environment) is not http/protobuf or grpc, so no metrics are sent.",
    ]);
    expect(of({ [shared]: at, OTEL_METRIC_EXPORT_INTERVAL: '1m' })).toEqual([
      `${at}/v1/metrics`,
      expect.stringContaining("'1m' (environment) is not a number of milliseconds; metrics are sent every 60000 ms."),
    ]);
  });

  it('reads store, team and warehouse from the environment and never prints their passwords', () => {
    const { config } = read({
      SEARCHFLOW_STORE: 'postgres://ann:canary-store@db.internal/etl?sslmode=verify-full',
      SEARCHFLOW_WAREHOUSE_URL: 'postgresql://bob:canary-house@db.internal:6432/dw?schema=raw&sslmode=disable',
      SEARCHFLOW_TEAM: 'growth',
      SEARCHFLOW_KEY_QPS: '4',
      SEARCHFLOW_METRICS: '127.0.0.1:9464',
    });
    expect(config).toMatchObject({ team: 'growth', keyQps: 4, metricsAddress: '127.0.0.1:9464', deadAfterMs: 15_000 });
    expect(config.store?.shown).toBe('postgres://db.internal:5432/etl');
    expect(config.warehouse?.shown).toBe('postgres://db.internal:6432/dw?schema=raw');
    expect(config.store?.url.reveal()).toContain('canary-store');
    expect(inspect(config, { depth: 5 }) + JSON.stringify(config)).not.toContain('canary');
  });

  it('reports every mistake of the store together, without the address', () => {
    const text = mistakes({
      SEARCHFLOW_STORE: 'mysql://ann:canary-store@db.internal/etl',
      SEARCHFLOW_WAREHOUSE_URL: 'postgres://bob:canary-house@db.internal',
      SEARCHFLOW_TEAM: 'our team',
      SEARCHFLOW_KEY_QPS: '0',
      SEARCHFLOW_METRICS: '9464',
      SEARCHFLOW_DEAD_AFTER_SECONDS: '1',
    });
    expect(text.split('\n').map((line) => line.split(':', 1)[0])).toEqual([
      'SEARCHFLOW_KEY_QPS',
      'SEARCHFLOW_TEAM',
      'SEARCHFLOW_STORE',
      'SEARCHFLOW_WAREHOUSE_URL',
      'SEARCHFLOW_DEAD_AFTER_SECONDS',
      'SEARCHFLOW_METRICS',
    ]);
    expect(text).not.toContain('canary');
    expect(text).toContain('names no database');
  });

  it('puts store and warehouse into separate schemas', () => {
    const text = mistakes({
      SEARCHFLOW_STORE: 'postgres://ann:canary-store@db.internal/etl?schema=searchflow&sslmode=verify-full',
      SEARCHFLOW_WAREHOUSE_URL: 'postgresql://bob:canary-house@DB.internal:5432/etl?sslmode=disable',
    });
    expect(text).toMatch(/^SEARCHFLOW_STORE: .*is the same schema as the warehouse/);
    expect(text).not.toContain('canary');
  });

  it('refuses any address of another host without an encryption setting', () => {
    const plain = 'postgres://ann:canary@db.internal/etl';
    const text = mistakes({ SEARCHFLOW_STORE: plain, SEARCHFLOW_WAREHOUSE_URL: plain }, { into: plain });
    const what =
      'is on another host and its address has no sslmode; add sslmode=verify-full, or sslmode=disable for plain text.';
    expect(text.split('\n')).toEqual([
      `SEARCHFLOW_STORE: the value (not shown) (environment) ${what}`,
      `SEARCHFLOW_WAREHOUSE_URL: the value (not shown) (environment) ${what}`,
      `--into: the value (not shown) (command line) ${what}`,
    ]);
  });

  it('connects to a database that is named alone with the parameters of the settings, or stricter ones', () => {
    const warehouseOfInto = (into: string) =>
      read(
        { SEARCHFLOW_WAREHOUSE_URL: 'postgres://ann:pw@db/etl?sslmode=require' },
        { into },
      ).config.warehouse?.url.reveal();
    expect(warehouseOfInto('postgres://DB/etl')).toBe('postgres://ann:pw@db/etl?sslmode=require');
    expect(warehouseOfInto('postgres://db/etl?sslmode=disable')).toBe('postgres://ann:pw@db/etl?sslmode=require');
    expect(warehouseOfInto('postgres://db/etl?sslmode=verify-full')).toBe(
      'postgres://ann:pw@db/etl?sslmode=verify-full',
    );
    expect(warehouseOfInto('postgres://bob@db/etl?sslmode=disable')).toBe('postgres://bob@db/etl?sslmode=disable');
  });

  it.skipIf(process.platform === 'win32')(
    'refuses a state folder that others may write, unless it is named once more',
    () => {
      const dir = mkdtempSync(join(tmpdir(), 'searchflow-state-'));
      const setting = { SEARCHFLOW_STATE_DIR: dir };
      for (const mode of [0o700, 0o755, 0o775]) {
        chmodSync(dir, mode);
        expect(read(setting).config.stateDir).toBe(dir);
      }
      chmodSync(dir, 0o777);
      expect(mistakes(setting)).toBe(
        `The state folder '${dir}' can be written by every user. Other users could choose what this command runs and ends. Change its owner or ` +
          'permissions, use another folder (SEARCHFLOW_STATE_DIR), or set SEARCHFLOW_TRUST_STATE_DIR to its path.',
      );
      expect(mistakes({ ...setting, SEARCHFLOW_TRUST_STATE_DIR: '/elsewhere' })).toContain(
        'can be written by every user',
      );
      expect(read({ ...setting, SEARCHFLOW_TRUST_STATE_DIR: dir }).config.stateDir).toBe(dir);
      if (process.geteuid?.() === 0) {
        chmodSync(dir, 0o770);
        chownSync(dir, 0, 4242);
        expect(mistakes(setting)).toContain('can be written by another group');
        chownSync(dir, 4242, 0);
        expect(mistakes(setting)).toContain('belongs to another user');
      }
      rmSync(dir, { recursive: true });
    },
  );

  it.skipIf(process.platform === 'win32')(
    'refuses a state folder below one that every user may write and that has no sticky bit',
    () => {
      const parent = mkdtempSync(join(tmpdir(), 'searchflow-parent-'));
      const dir = join(parent, 'deep', 'state');
      const setting = { SEARCHFLOW_STATE_DIR: dir };
      chmodSync(parent, 0o1777);
      expect(read(setting).config.stateDir).toBe(dir);
      chmodSync(parent, 0o777);
      expect(mistakes(setting)).toContain(`can be replaced by every user, who may write ${parent}`);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      expect(mistakes(setting)).toContain(`can be replaced by every user, who may write ${parent}`);
      expect(read({ ...setting, SEARCHFLOW_TRUST_STATE_DIR: dir }).config.stateDir).toBe(dir);
      rmSync(parent, { recursive: true });
    },
  );

  it('names the missing Temporal configuration file', () => {
    expect(mistakes({ TEMPORAL_CONFIG_FILE: '/nowhere/temporal.toml', TEMPORAL_PROFILE: 'p' })).toMatch(
      /TEMPORAL_(PROFILE|CONFIG_FILE)/,
    );
  });

  it('warns of a misspelt variable and names the closest one', () => {
    const { said } = read({ SEARCHFLOW_QSP: '5', SEARCHFLOW_KEY: key, OTHER: '1' });
    expect(said).toEqual([
      'Warning: SEARCHFLOW_QSP is an unknown variable and has no effect; did you mean SEARCHFLOW_QPS?',
      'Warning: SEARCHFLOW_KEY is an unknown variable and has no effect; did you mean SEARCHFLOW_API_KEY?',
    ]);
  });
});
