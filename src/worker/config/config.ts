import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { bucketsFor, type RateProfile, rateProfiles } from '../../core/limiter/rate.js';
import { DEFAULT_TASK_QUEUE } from '../../core/rows/job-names.js';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { parseDollars } from '../../core/text/money.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { stateDirOf } from '../../files/state-dir.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { readAlerts } from './alert-setting.js';
import { parseServer, pathsOf } from './allowlist.js';
import { readPriceFile, readRateFile } from './price-file.js';
import { MAX_CONCURRENCY, rateProfileOf } from './rate-setting.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';
import { readBill, readService, readWire } from './service-setting.js';
import { type Environment, type Found, misspeltVariables, SettingsReader } from './settings-reader.js';
import { readSource } from './source-setting.js';
import { readStore } from './store-setting.js';
import { hostPort, readConverter, readDeployment, readTemporal, temporalName } from './temporal-setting.js';

/** One week, which is long enough to notice that a warehouse was deleted. */
export const DEFAULT_KEEP_LANDING_MS = 7 * 86_400_000;

/** Settings from the command line, as typed, so that all mistakes are reported together. */
export interface ConfigFlags {
  readonly qps?: string;
  readonly rateProfile?: string;
  readonly concurrency?: string;
  /** Warehouse of a command that loads; a database's address may hold credentials. */
  readonly into?: string;
  /** The flag that named the warehouse; default: `--into`. */
  readonly intoFlag?: string;
  /** Source of a command that reads rows; a database's address may hold credentials. */
  readonly source?: string;
  /** How long answers stay in the journal, in days. */
  readonly keepLanding?: string;
  /** `sandbox` ignores key and base URL, `live` needs a key; default: `live` if there is a key, else `sandbox`. */
  readonly service?: 'live' | 'sandbox';
}

export interface ConfigSources {
  readonly env: Environment;
  readonly flags: ConfigFlags;
  readonly cwd: string;
  readonly say: RuntimeConfig['say'];
}

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(1).max(most));
const amountOfDollars = z.string().transform(parseDollars).pipe(z.number());
const listOfServers = z.string().transform((text, context) => {
  try {
    return text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map(parseServer);
  } catch {
    context.addIssue({ code: 'custom', message: 'no server' });
    return z.NEVER;
  }
});
const anAmount = 'an amount of dollars such as 5 or 0.50';
/** Default of SEARCHFLOW_ASK_ABOVE: purchases up to this amount need no confirmation. */
const DEFAULT_ASK_ABOVE_MICROS = 10_000_000;
const MAX_QPS = 10_000;
const aRate = `a whole number of requests a second from 1 to ${MAX_QPS}`;

/**
 * Makes the configuration from flags and environment; flags win. Throws a {@link UsageError} with one line for each mistake. A line has the
 * value and its source, but never a key. Uses no network, and reads only the files that a setting names: a rate profile, price tables, or
 * Temporal's own configuration (`TEMPORAL_CONFIG_FILE`, `TEMPORAL_PROFILE`).
 *
 * Without a key the service is the sandbox. The command that starts the sandbox then sets `baseUrl`; before that, nothing listens there.
 */
export function readConfig(sources: ConfigSources): RuntimeConfig {
  const { config, mistakes } = readSettings(sources);
  const all = [...mistakes, ...whyNoStateFolder(sources, config.stateDir)];
  if (all.length > 0) throw new UsageError('setting-invalid', all.join('\n'));
  return config;
}

/** Why a state folder cannot be used, a sentence for each reason. */
export function whyNoStateFolder(
  { env, cwd }: Pick<ConfigSources, 'env' | 'cwd'>,
  stateDir: string,
): readonly string[] {
  const reader = new SettingsReader(env);
  const noPath = whyNoPath(env.SEARCHFLOW_STATE_DIR ?? '', process.platform) ?? whyNoPath(stateDir, process.platform);
  if (noPath !== null) return [`The state folder (not shown) ${noPath}. See SEARCHFLOW_STATE_DIR.`];
  const shown = reader.shown(stateDir);
  const file = fileInWay(stateDir);
  if (file !== null) {
    const why =
      file === stateDir ? 'is a file, not a folder' : `cannot be made: ${reader.shown(file)} is a file, not a folder`;
    const found = reader.variable('SEARCHFLOW_STATE_DIR');
    if (found === null)
      return [`The state folder ${shown} ${why}. Remove that file, or set SEARCHFLOW_STATE_DIR to another folder.`];
    reader.wrong(found, `${why}. Name another folder, or remove that file.`);
    return reader.mistakes;
  }
  const foreign = whyForeign({ env, cwd }, stateDir);
  if (foreign !== null)
    return [
      `The state folder ${shown} ${foreign}. Other users could choose what this command runs and ends. Change its owner or ` +
        'permissions, use another folder (SEARCHFLOW_STATE_DIR), or set SEARCHFLOW_TRUST_STATE_DIR to its path.',
    ];
  return [whyOtherFormat(stateDir, shown)].filter((one) => one !== null);
}

/** The file that has the name of a folder or of a parent folder; null if the folder exists or can be made. */
function fileInWay(dir: string): string | null {
  try {
    return statSync(dir).isDirectory() ? null : dir;
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return isMissing && dirname(dir) !== dir ? fileInWay(dirname(dir)) : null;
  }
}

/** Why other users could change a state folder, in words that follow its name; null if they cannot, and if the settings trust the folder. */
function whyForeign({ env, cwd }: Pick<ConfigSources, 'env' | 'cwd'>, stateDir: string): string | null {
  const trusted = env.SEARCHFLOW_TRUST_STATE_DIR;
  return trusted && resolve(cwd, trusted) === stateDir ? null : whyNotOwn(stateDir);
}

/** The configuration, and the mistakes in flags and environment. A wrong setting has its default in the configuration. */
export function readSettings({ env, flags, cwd, say }: ConfigSources): {
  readonly config: RuntimeConfig;
  readonly mistakes: readonly string[];
} {
  const reader = new SettingsReader(env);
  for (const warning of misspeltVariables(env, reader)) say(warning);

  const service = readService(reader, flags.service);
  const wire = readWire(reader, env, service);
  const bill = { ...readBill(reader, service), proxy: wire.proxy };
  const rate = readRate(reader, flags, cwd);
  const keyQps = reader.check(reader.variable('SEARCHFLOW_KEY_QPS'), wholeNumber(MAX_QPS), aRate);
  const concurrency = reader.check(
    reader.flag(flags.concurrency, '--concurrency') ?? reader.variable('SEARCHFLOW_CONCURRENCY'),
    wholeNumber(MAX_CONCURRENCY),
    `a whole number from 1 to ${MAX_CONCURRENCY}`,
  );
  const taskQueue = reader.check(
    reader.variable('SEARCHFLOW_TASK_QUEUE'),
    temporalName,
    'a task queue name (no white space, at most 200 characters)',
  );
  const msOfDays = (found: Found | null): number | undefined => {
    const days = reader.check(found, wholeNumber(36_500), 'a whole number of days from 1');
    return days === null ? undefined : days * 86_400_000;
  };
  const keepLandingMs = msOfDays(
    reader.flag(flags.keepLanding, '--keep-landing') ?? reader.variable('SEARCHFLOW_KEEP_LANDING_DAYS'),
  );
  const keepCallsMs = msOfDays(reader.variable('SEARCHFLOW_KEEP_CALLS_DAYS'));
  const prices = readFile(reader, reader.variable('SEARCHFLOW_PRICES'), cwd, readPriceFile);
  const store = readStore(reader, reader.flag(flags.into, flags.intoFlag ?? '--into'), cwd);
  const source = readSource(reader, flags.source);
  const extensions = reader.variable('SEARCHFLOW_DUCKDB_EXTENSIONS');
  const paths = reader.variable('SEARCHFLOW_PATHS')?.text.split(delimiter).filter(Boolean);
  const hosts = reader.check(
    reader.variable('SEARCHFLOW_HOSTS'),
    listOfServers,
    'a list of database servers such as db.internal, db2.internal:6432',
  );
  const metricsAddress = reader.check(
    reader.variable('SEARCHFLOW_METRICS'),
    hostPort,
    'an address such as 127.0.0.1:9464',
  );
  const otlpMetrics = readOtlpMetrics(reader, metricsAddress !== null, say);
  reader.check(reader.variable('SEARCHFLOW_LOG'), z.enum(['text', 'json']), 'text or json');
  const askAboveMicros = reader.check(reader.variable('SEARCHFLOW_ASK_ABOVE'), amountOfDollars, anAmount);
  const maxCostPerJobMicros = reader.check(reader.variable('SEARCHFLOW_MAX_COST_PER_JOB'), amountOfDollars, anAmount);
  const alerts = readAlerts(reader);
  const temporalUi = reader.check(
    reader.variable('SEARCHFLOW_TEMPORAL_UI'),
    wholeNumber(65_535),
    'a port such as 8233',
  );
  const temporal = readTemporal(reader, env);
  const deployment = readDeployment(reader);
  const converter = readConverter(reader, temporal.address, cwd);
  const stateDir = stateDirOf(env, cwd);
  const config = Object.freeze({
    ...service,
    wire,
    bill,
    ...store,
    source,
    stateDir,
    userStateDir: userStateDir(env),
    rate,
    keyQps,
    ...(prices === null ? {} : { prices }),
    rateIsShare: flags.qps !== undefined,
    concurrency: concurrency ?? Math.min(MAX_CONCURRENCY, 5 * contentsQps(rate)),
    keepLandingMs: keepLandingMs ?? DEFAULT_KEEP_LANDING_MS,
    keepCallsMs,
    paths: pathsOf(paths, cwd),
    hosts: hosts ?? [],
    duckDbExtensions: extensions === null ? null : resolve(cwd, extensions.text),
    metricsAddress,
    otlpMetrics,
    askAboveMicros: askAboveMicros ?? DEFAULT_ASK_ABOVE_MICROS,
    maxCostPerJobMicros,
    alerts,
    temporalAddress: temporal.address,
    ...converter,
    deployment,
    temporalUi,
    namespace: temporal.namespace,
    taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE,
    say,
  } satisfies RuntimeConfig);
  return { config, mistakes: reader.mistakes };
}

function readRate(reader: SettingsReader, flags: ConfigFlags, cwd: string): RuntimeConfig['rate'] {
  const sources = [
    [reader.flag(flags.qps, '--qps'), reader.flag(flags.rateProfile, '--rate-profile')],
    [reader.variable('SEARCHFLOW_QPS'), reader.variable('SEARCHFLOW_RATE_PROFILE')],
  ] as const;
  for (const [qpsFound, profileFound] of sources) {
    const qps = reader.check(qpsFound, wholeNumber(MAX_QPS), aRate);
    const profile = readProfile(reader, profileFound, cwd);
    if (qpsFound !== null && profileFound !== null) {
      reader.mistakes.push(
        `${qpsFound.name} and ${profileFound.name} (${qpsFound.where}) cannot be combined; give one of them.`,
      );
    }
    if (profile !== null) return { profile };
    if (qps !== null) return { qps };
  }
  return { profile: 'contract' };
}

/** A profile by its name, or from a JSON file. */
function readProfile(reader: SettingsReader, found: Found | null, cwd: string): string | RateProfile | null {
  const known = Object.keys(rateProfiles);
  if (!found?.text.endsWith('.json')) {
    return reader.check(found, z.enum(known), `a rate profile; use ${known.join(', ')} or a .json file`);
  }
  return readFile(reader, found, cwd, readRateFile);
}

/** Reads the file that a setting names; records a mistake and returns null if the file cannot be used. */
function readFile<T>(reader: SettingsReader, found: Found | null, cwd: string, read: (path: string) => T): T | null {
  if (found === null) return null;
  try {
    return read(resolve(cwd, found.text));
  } catch (error) {
    // The reason names the file.
    const why = mayHoldSecret(found.text) ? 'cannot be read' : error instanceof Error ? error.message : error;
    reader.wrong(found, `${why}.`);
    return null;
  }
}

/** Number of requests for page contents that this rate allows per second. */
export function contentsQps(rate: RuntimeConfig['rate']): number {
  const buckets = bucketsFor(rateProfileOf({ rate, keyQps: null }), 'contents');
  return Math.min(...buckets.map((bucket) => bucket.qps), MAX_QPS);
}

/** The user's folder for state of all projects, by the XDG rules: a relative path in the variable is ignored. */
function userStateDir(env: Environment): string {
  const xdg = env.XDG_STATE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(env.HOME || homedir(), '.local', 'state'), 'searchflow');
}

/** Default of OpenTelemetry. */
const EXPORT_MS = 60_000;

/**
 * Where the metrics go by OTLP, from OpenTelemetry's own variables; null: nowhere. The exporter itself reads further variables, such as
 * headers and the name of the service. A value that cannot be used is only a warning, because the variables are for other programs, too.
 */
function readOtlpMetrics(
  reader: SettingsReader,
  isPrometheus: boolean,
  say: RuntimeConfig['say'],
): RuntimeConfig['otlpMetrics'] {
  const text = (name: string) => reader.variable(name)?.text.trim().toLowerCase();
  const exporter = text('OTEL_METRICS_EXPORTER');
  if (text('OTEL_SDK_DISABLED') === 'true' || (exporter !== undefined && exporter !== 'otlp')) return null;
  const own = reader.variable('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  const endpoint = own ?? reader.variable('OTEL_EXPORTER_OTLP_ENDPOINT');
  // A shared endpoint may be meant for traces only. The SDK has one exporter, so that Prometheus would lose its metrics.
  if (endpoint === null || (isPrometheus && own === null && exporter === undefined)) return null;
  const warn = ({ name, text: value, where }: Found, problem: string) =>
    say(`Warning: ${name}: ${reader.shown(value)} (${where}) ${problem}`);

  const protocol =
    reader.variable('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL') ?? reader.variable('OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== null && !['http/protobuf', 'grpc'].includes(protocol.text)) {
    warn(protocol, 'is not http/protobuf or grpc, so no metrics are sent.');
    return null;
  }
  if (!isHttp(endpoint.text)) {
    warn(endpoint, 'is not an address such as http://127.0.0.1:4318, so no metrics are sent.');
    return null;
  }
  const http = protocol?.text !== 'grpc';
  const interval = reader.variable('OTEL_METRIC_EXPORT_INTERVAL');
  const isInterval = interval === null || /^[1-9]\d{0,8}$/.test(interval.text);
  if (!isInterval) warn(interval, `is not a number of milliseconds; metrics are sent every ${EXPORT_MS} ms.`);
  return {
    url: http && own === null ? `${endpoint.text.replace(/\/+$/, '')}/v1/metrics` : endpoint.text,
    http,
    metricsExportInterval: interval !== null && isInterval ? Number(interval.text) : EXPORT_MS,
    temporality: text('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE') === 'delta' ? 'delta' : 'cumulative',
  };
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
