import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isLoopback } from '../../core/connections/loopback.js';
import { proxiesOf } from '../../core/connections/proxies.js';
import { DEFAULT_ADMIN_URL, DEFAULT_BASE_URL } from '../../core/connections/service.js';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { nearest } from '../../core/text/nearest.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { loneSecret } from './alert-setting.js';
import { isSameSchema } from './database-setting.js';
import { callSettings, recordSettings } from './derived-settings.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';
import type { Setting } from './setting.js';
import { knownVariables, type SettingName, settings, valuesOf } from './settings.js';
import { deploymentOf, temporalProfile } from './temporal-setting.js';
import { type Environment, type Found, readText, Variables } from './variables.js';
import { sourceOfFlag, warehouseOfFlag } from './warehouse-setting.js';

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

/**
 * Makes the configuration from flags and environment; flags win. Throws a {@link UsageError} with one line for each mistake. A line has the
 * value and its source, but never a key. Uses no network, and reads only the files that a setting names: a rate profile, price tables, or
 * Temporal's own configuration (`TEMPORAL_CONFIG_FILE`, `TEMPORAL_PROFILE`).
 *
 * Without a key the service is the sandbox. The command that starts the sandbox then sets `baseUrl`; before that, nothing listens there.
 */
export function readConfig(sources: ConfigSources): RuntimeConfig {
  const { config, mistakes, warnings } = readSettings(sources);
  for (const warning of warnings) sources.say(`Warning: ${warning}`);
  const all = [...mistakes.map(({ text }) => text), ...whyNoStateFolder(sources, config.stateDir)];
  if (all.length > 0) throw new UsageError('setting-invalid', all.join('\n'));
  return config;
}

/** Port 1 of this machine, where nothing listens: a plan without a running sandbox must not reach another service by accident. */
const NOWHERE = 'http://127.0.0.1:1';

/** A wrong setting, or one that does not fit another, and the sentence about it. */
export interface Mistake {
  readonly setting: SettingName;
  readonly text: string;
}

/** The configuration, and the mistakes in flags and environment. A wrong setting has its default in the configuration. */
export function readSettings({ env, flags, cwd, say }: ConfigSources): {
  readonly config: RuntimeConfig;
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly string[];
} {
  const variables = new Variables(env);
  const mistakes: Mistake[] = [];
  const note = (setting: SettingName, text: string) => mistakes.push({ setting, text });
  const attempt = <T>(name: SettingName, found: Found | null, read: (text: string) => T): T | undefined => {
    try {
      return found === null ? undefined : read(found.text);
    } catch (error) {
      note(name, variables.mistake(found as Found, error, settings[name].schema));
      return undefined;
    }
  };
  const asked =
    ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE']
      .map((name) => variables.find(name))
      .find(Boolean) ?? null;
  const temporal = attempt('temporalAddress', asked, () => temporalProfile(variables, env, asked as Found));
  const found = { ...typedSettings(variables, flags), ...temporal?.found };
  const values = valuesOf(cwd, (name, setting) => attempt(name, found[name], (text) => readText(setting, text, cwd)));
  const { warehouseUrl, sourceUrl } = values;
  const into = typedFlag(flags.into, flags.intoFlag ?? '--into');
  const warehouse = attempt('into', into, (text) => warehouseOfFlag(text, warehouseUrl, cwd)) ?? warehouseUrl;
  const from = typedFlag(flags.source, '--from');
  const source = attempt('from', from, (text) => sourceOfFlag(text, sourceUrl)) ?? sourceUrl;
  const live = flags.service === undefined ? found.apiKey !== null : flags.service === 'live';
  let proxy: ReturnType<typeof proxiesOf> = null;
  try {
    // The sandbox, on this machine, is behind no proxy.
    if (live) proxy = proxiesOf(env);
  } catch (error) {
    note('proxy', `${(error as Error).message}.`);
  }
  const deployment = deploymentOf(env);
  if (typeof deployment === 'string') note('deployment', deployment);
  const { baseUrl, metricsAddress, temporalAddress = null } = values;
  const otlp = otlpMetricsOf(variables, metricsAddress !== undefined);
  const config = Object.freeze({
    ...values,
    ...callSettings({ ...values, proxy }, 'SEARCHFLOW_BASE_URL'),
    ...recordSettings({ ...values, warehouseUrl: warehouse, sourceUrl: source }),
    ...(live
      ? { service: 'live', origin: baseUrl, baseUrl }
      : { service: 'sandbox', origin: 'sandbox', baseUrl: NOWHERE }),
    apiKey: live ? (values.apiKey ?? null) : null,
    bill: {
      url: values.billUrl ?? (live && baseUrl === DEFAULT_BASE_URL ? DEFAULT_ADMIN_URL : null),
      serviceKey: values.serviceKey ?? null,
      keyIds: values.keyIds ?? [],
      proxy,
    },
    userStateDir: userStateDir(env),
    rateIsShare: flags.qps !== undefined,
    otlpMetrics: otlp.metrics,
    deployment: typeof deployment === 'string' ? null : deployment,
    ...{ temporalAddress, say },
  } satisfies RuntimeConfig);
  return {
    config,
    warnings: [...misspeltVariables(env, variables), ...otlp.warnings],
    mistakes: [...mistakes, ...misfits(variables, found, config, temporal?.isPlain ?? false)],
  };
}
/** The settings as they were typed. A rate of the command line replaces both variables of a rate. */
function typedSettings(variables: Variables, flags: ConfigFlags): Typed {
  const hasRate = flags.qps !== undefined || flags.rateProfile !== undefined;
  const typed = (name: SettingName): Found | null => {
    const { variable, alias, flag }: Setting<unknown> = settings[name];
    const flagName = `--${flag?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const byFlag = typedFlag(flags[flag as keyof ConfigFlags], flagName);
    if (byFlag !== null) return byFlag;
    if (hasRate && (name === 'qps' || name === 'rateProfile')) return null;
    if (flags.service === 'sandbox' && (name === 'apiKey' || name === 'baseUrl')) return null;
    return (variable && variables.find(variable)) || (alias ? variables.find(alias) : null);
  };
  return Object.fromEntries(Object.keys(settings).map((name) => [name, typed(name as SettingName)])) as Typed;
}

type Typed = Readonly<Record<SettingName, Found | null>>;

const typedFlag = (text: string | undefined, name: string): Found | null =>
  text === undefined ? null : { text, name, where: 'command line' };

/** Settings that do not fit each other. */
function misfits(variables: Variables, typed: Typed, config: RuntimeConfig, isPlain: boolean): readonly Mistake[] {
  const { apiKey, baseUrl, qps, rateProfile, store, alertUrl, alertSecret, temporalAddress, encrypts } = typed;
  const found: Mistake[] = [];
  const note = (setting: SettingName, text: string) => found.push({ setting, text });
  const wrong = (name: SettingName, one: Found, problem: string) =>
    note(name, variables.mistake(one, new Error(problem)));
  if (baseUrl && !apiKey)
    note(
      'baseUrl',
      `${variables.named('SEARCHFLOW_BASE_URL')} is set without an API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY), or unset SEARCHFLOW_BASE_URL to use the sandbox.`,
    );
  else if (config.service === 'live' && !apiKey)
    note('apiKey', 'There is no API key. Set SEARCHFLOW_API_KEY (or EXA_API_KEY) in the environment.');
  if (qps && rateProfile) wrong('qps', qps, `and ${rateProfile.name} cannot be combined; give one of them`);
  if (store && config.store && config.warehouse && isSameSchema(config.store, config.warehouse))
    wrong('store', store, 'is the same schema as the warehouse. Give one of them another schema (?schema=name)');
  if (alertSecret && !alertUrl) note('alertSecret', loneSecret('SEARCHFLOW_ALERT_SECRET', 'SEARCHFLOW_ALERT_URL'));
  if (temporalAddress && isPlain && config.temporalAddress && !isLoopback(config.temporalAddress.replace(/:\d+$/, '')))
    wrong(
      'temporalAddress',
      temporalAddress,
      'is on another machine, and the connection has no TLS. Set TEMPORAL_TLS=true. In a private network, TEMPORAL_TLS=false allows plain text',
    );
  if (encrypts && config.encrypts && config.temporalAddress)
    wrong(
      'encrypts',
      encrypts,
      'is for the embedded server; for a server of your own, set SEARCHFLOW_DATA_CONVERTER to a module',
    );
  if (encrypts && config.encrypts && config.dataConverterPath)
    wrong('encrypts', encrypts, 'and SEARCHFLOW_DATA_CONVERTER cannot be combined; set one of them');
  return found;
}

/** A warning for each unknown variable that begins with `SEARCHFLOW_`, with the closest known variable. */
function misspeltVariables(env: Environment, variables: Variables): string[] {
  return Object.keys(env)
    .filter((found) => found.startsWith('SEARCHFLOW_') && !knownVariables.includes(found))
    .map((found) => {
      // A variable whose name ends with KEY holds a key, and a key must not be suggested for another variable.
      const isKey = (name: string) => name.endsWith('KEY');
      const near = nearest(found, isKey(found) ? knownVariables.filter(isKey) : knownVariables);
      const hint = near === null ? `. Known variables: ${knownVariables.join(', ')}.` : `; did you mean ${near}?`;
      const shown = found.replace(/[^\w]/g, '?').slice(0, 80);
      return `${variables.named(found).replace(found, () => shown)} is an unknown variable and has no effect${hint}`;
    });
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
function otlpMetricsOf(
  variables: Variables,
  isPrometheus: boolean,
): { readonly metrics: RuntimeConfig['otlpMetrics']; readonly warnings: readonly string[] } {
  const warning = (found: Found, problem: string) => ({ metrics: null, warnings: [variables.mistake(found, problem)] });
  const nowhere = { metrics: null, warnings: [] };
  const text = (name: string) => variables.find(name)?.text.trim().toLowerCase();
  const exporter = text('OTEL_METRICS_EXPORTER');
  if (text('OTEL_SDK_DISABLED') === 'true' || (exporter !== undefined && exporter !== 'otlp')) return nowhere;
  const own = variables.find('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  const endpoint = own ?? variables.find('OTEL_EXPORTER_OTLP_ENDPOINT');
  // A shared endpoint may be meant for traces only. The SDK has one exporter, so that Prometheus would lose its metrics.
  if (endpoint === null || (isPrometheus && own === null && exporter === undefined)) return nowhere;
  const protocol =
    variables.find('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL') ?? variables.find('OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== null && !['http/protobuf', 'grpc'].includes(protocol.text))
    return warning(protocol, 'is not http/protobuf or grpc, so no metrics are sent.');
  if (!isHttp(endpoint.text))
    return warning(endpoint, 'is not an address such as http://127.0.0.1:4318, so no metrics are sent.');
  const http = protocol?.text !== 'grpc';
  const interval = variables.find('OTEL_METRIC_EXPORT_INTERVAL');
  const isInterval = interval === null || /^[1-9]\d{0,8}$/.test(interval.text);
  const metrics = {
    url: http && own === null ? `${endpoint.text.replace(/\/+$/, '')}/v1/metrics` : endpoint.text,
    http,
    metricsExportInterval: interval !== null && isInterval ? Number(interval.text) : EXPORT_MS,
    temporality: text('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE') === 'delta' ? 'delta' : 'cumulative',
  } as const;
  if (isInterval) return { metrics, warnings: [] };
  return { ...warning(interval, `is not a number of milliseconds; metrics are sent every ${EXPORT_MS} ms.`), metrics };
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export type Here = { readonly env: Environment; readonly cwd: string };

/** Why a state folder cannot be used, a sentence for each reason. */
export function whyNoStateFolder({ env, cwd }: Here, stateDir: string): readonly string[] {
  const variables = new Variables(env);
  const noPath = whyNoPath(env.SEARCHFLOW_STATE_DIR ?? '', process.platform) ?? whyNoPath(stateDir, process.platform);
  if (noPath !== null) return [`The state folder (not shown) ${noPath}. See SEARCHFLOW_STATE_DIR.`];
  const shown = variables.shown(stateDir);
  const file = fileInWay(stateDir);
  if (file !== null) {
    const why =
      file === stateDir
        ? 'is a file, not a folder'
        : `cannot be made: ${variables.shown(file)} is a file, not a folder`;
    const found = variables.find('SEARCHFLOW_STATE_DIR');
    if (found !== null) return [variables.mistake(found, `${why}. Name another folder, or remove that file.`)];
    return [`The state folder ${shown} ${why}. Remove that file, or set SEARCHFLOW_STATE_DIR to another folder.`];
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
export function whyForeign({ env, cwd }: Here, stateDir: string): string | null {
  const trusted = env.SEARCHFLOW_TRUST_STATE_DIR;
  return trusted && resolve(cwd, trusted) === stateDir ? null : whyNotOwn(stateDir);
}
