import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { WireOptions } from '../../api/transport.js';
import { DEFAULT_BETA_HEADER } from '../../api/wire/transport-options.js';
import { usualAlerts } from '../../core/alerts/alert.js';
import type { InputSchema } from '../../core/check-names.js';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { DEFAULT_BASE_URL } from '../../core/connections/service.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import { type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import { DEFAULT_TASK_QUEUE } from '../../core/rows/job-names.js';
import type { Sinks } from '../../core/rows/sink.js';
import { DAY_MS } from '../../core/text/duration.js';
import { MOST_DOLLARS, parseDollars, toDollars, toMicros } from '../../core/text/money.js';
import { alertCommand, alertEventsOf, alertLag, alertSecret, alertUrl, readArgv } from './alert-setting.js';
import { databaseSource, databaseWarehouse, parseServer, storeAddress } from './database-setting.js';
import { priceTableProblems, rateProfileProblems, readJsonFile, readPriceFile } from './price-file.js';
import { checkedHeaders, keyIds, keySetting, readHeaders, readTokens, serviceAddress } from './service-setting.js';
import { type Setting, Wrong } from './setting.js';

/** Most paid requests in flight. */
export const MAX_CONCURRENCY = 256;
/** One week, which is long enough to notice that a warehouse was deleted. */
export const KEEP_LANDING_MS = 7 * DAY_MS;

type Schema = InputSchema & { readonly default?: unknown };
type More<V, T> = Omit<Setting<T>, 'variable' | 'schema' | 'make'> & {
  readonly make?: (value: V, cwd: string) => T;
};
const of =
  <V>() =>
  <S extends Schema, T = V>(variable: string | null, schema: S, more: More<V, T> = {}) => ({
    ...more,
    ...{ variable, schema },
  });
const text = of<string>();
const listed = of<readonly string[]>();
const number = of<number>();
const flag = of<boolean>();

const usual = <V>(schema: InputSchema, value: V) => ({ ...schema, default: value });

const aText: InputSchema = { type: 'string', minLength: 1 };
const aSecret: InputSchema = { ...aText, writeOnly: true };
const texts: InputSchema = { type: 'array', items: aText };
const secrets: InputSchema = { type: 'array', items: aSecret, writeOnly: true };
const yesOrNo: InputSchema = { type: 'boolean' };
const rate: InputSchema = { type: 'integer', minimum: 1, maximum: 10_000 };
const days: InputSchema = { type: 'integer', minimum: 1, maximum: 36_500, must: 'a whole number of days from 1' };
const amount: InputSchema = { type: 'number', minimum: 0, maximum: MOST_DOLLARS };
const asMicros = { parse: readDollars, make: (value: number) => toMicros(value) as number };
const inMs = (unit: number) => (value: number) => value * unit;
const path = (value: string, cwd: string): string => resolve(cwd, value);
const matching = (pattern: string, must: string): InputSchema => ({ type: 'string', pattern, must });
/** `host:port`. */
const endpoint = '^(\\[[0-9a-fA-F:.]+\\]|[^\\s:/@]+):\\d{1,5}$';
const port: InputSchema = { type: 'integer', minimum: 1, maximum: 65_535, must: 'a port such as 8233' };
/** Name of a task queue or namespace in Temporal. */
const temporalName = '^[^\\s\\p{Cc}]{1,200}$';

/** The settings that are options of the plugin, by the names of the options. */
export const optionSettings = {
  apiKey: text('SEARCHFLOW_API_KEY', aSecret, { alias: 'EXA_API_KEY', make: keySetting }),
  baseUrl: text('SEARCHFLOW_BASE_URL', usual(aText, DEFAULT_BASE_URL), { make: serviceAddress('SEARCHFLOW_API_KEY') }),
  origin: text(null, aText, { make: originSetting }),
  auth: of<'x-api-key' | 'bearer'>()(null, { type: 'string', enum: ['x-api-key', 'bearer'] }),
  headers: of<Readonly<Record<string, string>>>()(
    'SEARCHFLOW_HEADERS',
    { type: 'object', additionalProperties: { type: 'string', writeOnly: true }, writeOnly: true },
    { parse: readHeaders, make: checkedHeaders },
  ),
  beta: listed('SEARCHFLOW_BETA', texts, { parse: readTokens, make: betaSetting }),
  betaHeader: text('SEARCHFLOW_BETA_HEADER', aText, { make: betaHeaderSetting }),
  unchecked: flag(null, yesOrNo),
  proxy: of<WireOptions['proxy']>()(null, {
    anyOf: [{ type: 'object', writeOnly: true }, aSecret, { type: 'null' }],
  }),
  qps: number('SEARCHFLOW_QPS', rate, { flag: 'qps' }),
  rateProfile: of<string | RateProfile>()(
    'SEARCHFLOW_RATE_PROFILE',
    usual({ anyOf: [aText, { type: 'object' }] }, 'contract'),
    { flag: 'rateProfile', parse: readRateProfile, make: rateProfileSetting },
  ),
  limiter: of<Limiter>()(null, {}, { make: limiterSetting }),
  prices: of<readonly PriceTable[]>()(
    'SEARCHFLOW_PRICES',
    { type: 'array', items: { type: 'object' } },
    { parse: (file, cwd) => fromFile(file, cwd, readPriceFile), make: priceSetting },
  ),
  keyQps: number('SEARCHFLOW_KEY_QPS', rate),
  concurrency: number(
    'SEARCHFLOW_CONCURRENCY',
    { type: 'integer', minimum: 1, maximum: MAX_CONCURRENCY },
    { flag: 'concurrency' },
  ),
  team: text('SEARCHFLOW_TEAM', aText, { parse: readTeam, ofRecord: true }),
  stateDir: text('SEARCHFLOW_STATE_DIR', usual(aText, '.searchflow'), { make: path }),
  trustStateDir: of<boolean | string>()('SEARCHFLOW_TRUST_STATE_DIR', yesOrNo, { parse: path, ofRecord: true }),
  store: text('SEARCHFLOW_STORE', aSecret, { make: storeAddress }),
  warehouseUrl: text('SEARCHFLOW_WAREHOUSE_URL', aSecret, { make: databaseWarehouse, ofRecord: true }),
  sourceUrl: text('SEARCHFLOW_SOURCE_URL', aSecret, { make: databaseSource, ofRecord: true }),
  paths: listed('SEARCHFLOW_PATHS', usual(texts, ['.']), {
    ...{ parse: (value) => value.split(delimiter).filter(Boolean), ofRecord: true },
    make: (all, cwd) => all.map((one) => resolve(cwd, one)),
  }),
  hosts: listed('SEARCHFLOW_HOSTS', usual(secrets, []), { make: hostsSetting, ofRecord: true }),
  sinks: of<Sinks>()(null, { type: 'object' }, { ofRecord: true }),
  duckDbExtensions: text('SEARCHFLOW_DUCKDB_EXTENSIONS', aText, { make: path, ofRecord: true }),
  maxCostPerJob: number('SEARCHFLOW_MAX_COST_PER_JOB', amount, { ...asMicros, ofRecord: true }),
  secretFile: text(null, aText, { make: path }),
  operations: flag(null, usual(yesOrNo, true)),
  versioned: flag(null, usual(yesOrNo, false)),
  alertUrl: text('SEARCHFLOW_ALERT_URL', aSecret, { make: alertUrl, ofRecord: true }),
  alertSecret: text('SEARCHFLOW_ALERT_SECRET', aSecret, { make: alertSecret, ofRecord: true }),
  alertCommand: listed('SEARCHFLOW_ALERT_COMMAND', secrets, { parse: readArgv, make: alertCommand, ofRecord: true }),
  alertOn: listed('SEARCHFLOW_ALERT_ON', usual(texts, usualAlerts), { make: alertEventsOf, ofRecord: true }),
  alertLag: text('SEARCHFLOW_ALERT_LAG', usual(aText, '2h'), { make: alertLag, ofRecord: true }),
  say: of<(sentence: string) => void>()(null, {}, { make: saySetting }),
} as const;

export const settings = {
  ...optionSettings,
  into: text(null, aText),
  from: text(null, aText),
  settingsFile: text('SEARCHFLOW_SETTINGS', aText),
  debug: text('SEARCHFLOW_DEBUG', aText),
  logFormat: text('SEARCHFLOW_LOG', { type: 'string', enum: ['text', 'json'] }),
  serviceKey: text('SEARCHFLOW_SERVICE_KEY', aSecret, { make: keySetting }),
  keyIds: listed('SEARCHFLOW_KEY_ID', texts, { make: keyIds }),
  billUrl: text('SEARCHFLOW_BILL_URL', aText, { make: serviceAddress('SEARCHFLOW_SERVICE_KEY') }),
  taskQueue: text(
    'SEARCHFLOW_TASK_QUEUE',
    usual(matching(temporalName, 'a task queue name (no white space, at most 200 characters)'), DEFAULT_TASK_QUEUE),
  ),
  keepLandingMs: number('SEARCHFLOW_KEEP_LANDING_DAYS', usual(days, KEEP_LANDING_MS / DAY_MS), {
    flag: 'keepLanding',
    make: inMs(DAY_MS),
  }),
  keepCallsMs: number('SEARCHFLOW_KEEP_CALLS_DAYS', usual(days, 90), { make: inMs(DAY_MS) }),
  deadAfterMs: number(
    'SEARCHFLOW_DEAD_AFTER_SECONDS',
    usual({ type: 'integer', minimum: 2, maximum: 9999, must: 'a whole number of seconds from 2 to 9999' }, 15),
    { make: inMs(1000) },
  ),
  metricsAddress: text('SEARCHFLOW_METRICS', matching(endpoint, 'an address such as 127.0.0.1:9464'), {
    make: endpointSetting,
  }),
  askAboveMicros: number('SEARCHFLOW_ASK_ABOVE', usual(amount, 10), asMicros),
  temporalUi: number('SEARCHFLOW_TEMPORAL_UI', port),
  temporalAddress: text('TEMPORAL_ADDRESS', matching(endpoint, 'an address such as localhost:7233'), {
    make: endpointSetting,
  }),
  deployment: of<undefined>()(null, {}),
  namespace: text('TEMPORAL_NAMESPACE', usual(matching(temporalName, 'a namespace name'), 'default')),
  dataConverterPath: text('SEARCHFLOW_DATA_CONVERTER', aText, { make: moduleSetting }),
  encrypts: text('SEARCHFLOW_ENCRYPT', matching('^[01]$', '0 or 1'), { make: (value) => value === '1' }),
} as const;

export type SettingName = keyof typeof settings;
type Made<Name extends SettingName> = (typeof settings)[Name] extends Setting<infer T> ? T : never;
type Defaulted = {
  [Name in SettingName]: (typeof settings)[Name]['schema'] extends { readonly default: unknown } ? Name : never;
}[SettingName];
/** The settings: those that are set, and the defaults of others. */
export type Values = { readonly [Name in Defaulted]: Made<Name> } & {
  readonly [Name in Exclude<SettingName, Defaulted>]?: Made<Name>;
};

const all = Object.entries<Setting<unknown>>(settings);

/** Returns the settings. `given`: the value of a setting; undefined if it is not set, or wrong. */
export function valuesOf(cwd: string, given: (name: SettingName, setting: Setting<unknown>) => unknown): Values {
  const made = all.map(([name, setting]) => {
    const { schema, make = (value) => value } = setting;
    const value = given(name as SettingName, setting);
    return [name, value === undefined && schema.default !== undefined ? make(schema.default as never, cwd) : value];
  });
  return Object.fromEntries(made) as Values;
}

/** All variables of searchflow. Any other variable that begins with `SEARCHFLOW_` gives a warning. */
export const knownVariables: readonly string[] = all.flatMap(([, { variable }]) =>
  variable?.startsWith('SEARCHFLOW_') ? [variable] : [],
);

function originSetting(origin: string): string {
  // The origin is in keys, histories and messages.
  if (mayHoldSecret(origin)) throw new Wrong('may contain a password; give a name without one');
  return origin;
}

function betaSetting(tokens: readonly string[]): readonly string[] {
  checkedHeaders({ [DEFAULT_BETA_HEADER]: tokens.join(',') });
  return tokens;
}

function betaHeaderSetting(name: string): string {
  checkedHeaders({ [name]: '' });
  return name;
}

function saySetting(say: unknown): (sentence: string) => void {
  if (typeof say !== 'function') throw new Wrong('must be a function', 'the value');
  return say as (sentence: string) => void;
}

function limiterSetting(limiter: Limiter): Limiter {
  const functions = ['acquire', 'start', 'block', 'queued', 'view'] as const;
  if (functions.every((name) => typeof limiter?.[name] === 'function')) return limiter;
  throw new Wrong(`must have the functions of a Limiter: ${functions.join(', ')}`, 'the value');
}

function fromFile<T>(file: string, cwd: string, read: (path: string) => T): T {
  try {
    return read(resolve(cwd, file));
  } catch (error) {
    // The reason names the file.
    throw mayHoldSecret(file) ? new Error('cannot be read') : error;
  }
}

/** A profile by its name, or from a JSON file. */
function readRateProfile(text: string, cwd: string): string | RateProfile {
  return text.endsWith('.json') ? (fromFile(text, cwd, readJsonFile) as RateProfile) : text;
}

function rateProfileSetting(profile: string | RateProfile): string | RateProfile {
  if (typeof profile === 'string') {
    if (Object.hasOwn(rateProfiles, profile)) return profile;
    throw new Error(
      `is not a rate profile; use ${Object.keys(rateProfiles).join(', ')} or a .json file; an option takes buckets, too`,
    );
  }
  return whole(profile, 'a rate profile', rateProfileProblems(profile));
}

function priceSetting(tables: readonly PriceTable[]): readonly PriceTable[] {
  return whole(tables, 'a list of price tables', priceTableProblems(tables));
}

function whole<T>(value: T, kind: string, problems: readonly string[]): T {
  if (problems.length === 0) return value;
  throw new Wrong(`is not ${kind}: ${problems.join('; ')}`, 'the value');
}

function readTeam(name: string): string {
  if (/^[\w.-]{1,60}$/.test(name)) return name;
  throw new Error('is not a name of at most 60 letters, digits, dots, dashes and underscores');
}

function hostsSetting(hosts: readonly string[]): readonly string[] {
  try {
    return hosts.map(parseServer);
  } catch {
    throw new Error('is not a list of database servers such as db.internal, db2.internal:6432');
  }
}

function readDollars(text: string): number {
  const micros = parseDollars(text);
  if (micros === null) throw new Error('is not an amount of dollars such as 5 or 0.50');
  return toDollars(micros);
}

function endpointSetting(address: string): string {
  if (Number(address.slice(address.lastIndexOf(':') + 1)) <= 65_535) return address;
  throw new Error('has a port above 65535');
}

function moduleSetting(file: string, cwd: string): string {
  // Most commands do not load the module, so a missing one is reported here, with the other mistakes.
  if (existsSync(resolve(cwd, file))) return resolve(cwd, file);
  throw new Error('does not exist. Name the module with the data converter of the workers');
}
