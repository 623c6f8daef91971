import { resolve } from 'node:path';
import { requestHeaders } from '../../api/request.js';
import { DEFAULT_BETA_HEADER, type WireOptions } from '../../api/transport.js';
import { type InputSchema, schemaProblems } from '../../core/check-value.js';
import { mayHoldSecret, Secret } from '../../core/connections/secret.js';
import { UsageError } from '../../core/errors/coded-error.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import { type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import { MOST_DOLLARS } from '../../core/text/money.js';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import { checkAlerts } from '../config/alert-setting.js';
import { priceTableProblems, rateProfileProblems } from '../config/price-file.js';
import { MAX_CONCURRENCY } from '../config/rate-setting.js';

export interface SearchflowPluginOptions extends WireOptions {
  /** Key of the service, from your own configuration. It is sent only to the service. */
  readonly apiKey: string;
  /** Default: the public service. */
  readonly baseUrl?: string;
  /** Name of the service in every purchase's key. Default: the base URL. Use `sandbox` for a stand-in, whose address may change. */
  readonly origin?: string;
  /**
   * PostgreSQL that many workers share, with journal, rate limit, budgets and staged rows:
   * `postgres://user:password@host/database?sslmode=verify-full`, with `schema=` if not `searchflow_store`. Default: the folder `stateDir`.
   */
  readonly store?: string;
  /** Name that joins several keys into one team in the store. Default: each key is its own team. */
  readonly team?: string;
  /** PostgreSQL warehouse with credentials, which workflow inputs must not contain. */
  readonly warehouseUrl?: string;
  /** PostgreSQL source of rows with credentials, which workflow inputs must not contain. */
  readonly sourceUrl?: string;
  /**
   * Folders whose files the inputs of workflows may name: rows, DuckDB warehouses, CSV files, secret files. Default: the working folder.
   * Hidden folders in them (`.git`) and `stateDir` stay closed unless `paths` names them.
   */
  readonly paths?: readonly string[];
  /**
   * Servers that the inputs of workflows may name in addition to that of `warehouseUrl`: of databases, such as `db.internal:6432`, and of
   * rows at an address, with their port: `data.example.com:443`. Default: none.
   */
  readonly hosts?: readonly string[];
  /** Folder with extensions of DuckDB, for inputs at `s3://` and `https://`. Nothing is downloaded. Default: none. */
  readonly duckDbExtensions?: string;
  /**
   * Folder of the record: journal and stages. One worker process at a time owns it; a folder on the own disk of a pod is lost with the pod.
   * Default: with `store` the folder `.searchflow`, otherwise the worker has no record, and runs operations only.
   */
  readonly stateDir?: string;
  /** Accepts a `stateDir` that belongs to another user, or that other users may write or replace. Default: such a folder is refused. */
  readonly trustStateDir?: boolean;
  /** Requests per second of your team's limit that this worker may use. Default: 10. */
  readonly qps?: number;
  /** Your own rate limit, instead of `qps`, for a worker without a record. It stays open when the worker ends. */
  readonly limiter?: Limiter;
  /** Rate profile or its name, instead of `qps`. */
  readonly rateProfile?: string | RateProfile;
  /** Price tables that replace the built-in ones, for estimates and for answers without a cost. */
  readonly prices?: readonly PriceTable[];
  /** Requests per second that this key may use of the team's limit. Default: all of them. */
  readonly keyQps?: number;
  /** Most paid requests in flight. Default: enough to use the limit at 5 s latency, at most 256. */
  readonly concurrency?: number;
  /**
   * Cap in dollars for each run of `enrichCsv`, `runAgentRows`, `runAgent` and `runResearch`. It applies if the input has no
   * `maxCostDollars`, or a higher one. Default: no cap.
   */
  readonly maxCostPerJob?: number;
  /** File (mode 0600) for secrets that the service returns only once, such as a monitor's webhook secret. `createMonitor` needs it. */
  readonly secretFile?: string;
  /**
   * Whether the activities of single operations (`search`, `answer`, …) are registered for your own workflows. Default: true. With false,
   * only the activities of searchflow's workflows are registered, so that you can use the other names.
   */
  readonly operations?: boolean;
  /**
   * Whether the worker runs as the version in `TEMPORAL_DEPLOYMENT_NAME` and `TEMPORAL_WORKER_BUILD_ID`, if you set none. Default: false.
   */
  readonly versioned?: boolean;
  /** Address that gets alerts as JSON, with its token if it needs one: https, or http on this machine. Default: none. */
  readonly alertUrl?: string;
  /** Secret of at least 16 characters that signs these alerts. Default: they are not signed. */
  readonly alertSecret?: string;
  /** A program (absolute path) with its arguments, which gets each alert as JSON on its standard input. Default: none. */
  readonly alertCommand?: readonly string[];
  /** Events that are reported, such as `job.failed`, or `all`. Default: those that a person must know of. */
  readonly alertOn?: readonly string[];
  /** Lag of a scheduled stream of events above which an alert is sent, such as `30m`, or `none`. Default: `2h`. */
  readonly alertLag?: string;
  /** Called with a sentence about warnings and long waits. Default: they go to the SDK's logger, as warnings. */
  readonly say?: (sentence: string) => void;
}

const text: InputSchema = { type: 'string', minLength: 1 };
const texts: InputSchema = { type: 'array', items: text };
const secretText: InputSchema = { ...text, writeOnly: true };
const flag: InputSchema = { type: 'boolean' };
const rate: InputSchema = { type: 'integer', minimum: 1, maximum: 10_000 };

/** The types of the options. A function has no type here. */
const properties: Readonly<Record<keyof SearchflowPluginOptions, InputSchema>> = {
  apiKey: secretText,
  baseUrl: text,
  origin: text,
  store: secretText,
  team: text,
  warehouseUrl: secretText,
  sourceUrl: secretText,
  paths: texts,
  hosts: { type: 'array', items: secretText, writeOnly: true },
  duckDbExtensions: text,
  stateDir: text,
  trustStateDir: flag,
  qps: rate,
  rateProfile: { anyOf: [text, { type: 'object' }] },
  prices: { type: 'array', items: { type: 'object' } },
  keyQps: rate,
  concurrency: { type: 'integer', minimum: 1, maximum: MAX_CONCURRENCY },
  maxCostPerJob: { type: 'number', minimum: 0, maximum: MOST_DOLLARS },
  secretFile: text,
  operations: flag,
  versioned: flag,
  alertUrl: secretText,
  alertSecret: secretText,
  alertCommand: { type: 'array', items: secretText, writeOnly: true },
  alertOn: texts,
  alertLag: text,
  say: {},
  limiter: {},
  auth: { type: 'string', enum: ['x-api-key', 'bearer'] },
  headers: { type: 'object', additionalProperties: { type: 'string', writeOnly: true }, writeOnly: true },
  beta: texts,
  betaHeader: text,
  unchecked: flag,
  proxy: { anyOf: [{ type: 'object', writeOnly: true }, { type: 'string', writeOnly: true }, { type: 'null' }] },
};
const schema: InputSchema = { type: 'object', properties, required: ['apiKey'], additionalProperties: false };

/** Options that mean nothing without a record. */
const ofRecord = [
  ...(['team', 'warehouseUrl', 'sourceUrl', 'paths', 'hosts', 'duckDbExtensions', 'trustStateDir'] as const),
  ...(['maxCostPerJob', 'alertUrl', 'alertSecret', 'alertCommand', 'alertOn', 'alertLag'] as const),
];

/** Whether the worker has a record: a folder or a database. */
export const hasRecord = ({ stateDir, store }: SearchflowPluginOptions): boolean => (stateDir ?? store) !== undefined;

/** The folder of the record. */
export const stateDirOf = ({ stateDir = '.searchflow' }: SearchflowPluginOptions): string => resolve(stateDir);

/** The mistakes of options that need a record, or exclude one. */
function recordProblems(options: SearchflowPluginOptions): readonly string[] {
  const { limiter } = options;
  if (hasRecord(options))
    return limiter === undefined ? [] : ['limiter is for a worker without a record: pass neither stateDir nor store.'];
  const needing = ofRecord.filter((name) => options[name] !== undefined);
  const isLimiter =
    limiter === undefined ||
    (['acquire', 'start', 'block', 'queued', 'view'] as const).every((name) => typeof limiter?.[name] === 'function');
  return [
    ...(needing.length > 0 ? [`${needing.join(', ')}: jobs need a record. Pass stateDir or store.`] : []),
    ...(isLimiter ? [] : ['limiter must have the functions of a Limiter: acquire, start, block, queued, view.']),
  ];
}

/** Throws `UsageError` with all mistakes in the options of the plugin. Options that are undefined count as absent. */
export function refuseWrongOptions(options: SearchflowPluginOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError('setting-invalid', "SearchflowPlugin takes an object of options, such as { apiKey: '…' }.");
  const given = withoutUndefined(options);
  const { say, rateProfile, prices, origin } = given;
  const wrong = schemaProblems('SearchflowPlugin', given, schema);
  const problems = [
    ...wrong,
    // These checks read the options by their types.
    ...(wrong.length > 0 ? [] : [...headerProblems(options), ...recordProblems(options)]),
    ...(wrong.length > 0 || prices === undefined ? [] : priceTableProblems(prices).map((one) => `prices: ${one}.`)),
    ...(say === undefined || typeof say === 'function' ? [] : ['say must be a function.']),
    // The origin is in keys, histories and messages.
    ...(typeof origin === 'string' && mayHoldSecret(origin)
      ? ['origin (not shown) may contain a password; give a name without one.']
      : []),
    ...profileProblems(rateProfile),
    ...(wrong.length > 0 ? [] : alertsOf(options).problems),
  ];
  if (problems.length > 0) throw new UsageError('setting-invalid', problems.join('\n'));
}

/** The settings of alerts in the options, and what is wrong with them. */
export function alertsOf({ alertUrl, alertSecret, alertCommand, alertOn, alertLag }: SearchflowPluginOptions) {
  const written = { url: alertUrl, secret: alertSecret, command: alertCommand, on: alertOn, lag: alertLag };
  return checkAlerts(written, {
    ...{ url: 'alertUrl', secret: 'alertSecret', command: 'alertCommand', on: 'alertOn', lag: 'alertLag' },
  });
}

function headerProblems({ apiKey, auth, headers, beta = [], betaHeader }: SearchflowPluginOptions): readonly string[] {
  const ofBeta =
    betaHeader === undefined && beta.length === 0 ? {} : { [betaHeader ?? DEFAULT_BETA_HEADER]: beta.join(',') };
  try {
    requestHeaders(new Secret(apiKey), auth ?? 'x-api-key', '', { ...headers, ...ofBeta });
    return [];
  } catch (error) {
    return [`${error instanceof Error ? error.message : String(error)}.`];
  }
}

function profileProblems(profile: unknown): readonly string[] {
  if (typeof profile === 'object' && profile !== null)
    return rateProfileProblems(profile).map((one) => `rateProfile: ${one}.`);
  if (typeof profile !== 'string' || Object.hasOwn(rateProfiles, profile)) return [];
  return [
    `rateProfile must be one of ${Object.keys(rateProfiles).join(', ')}, or an object (got ${mayHoldSecret(profile) ? 'a text that is not shown' : `"${profile.slice(0, 60)}"`}).`,
  ];
}
