import type { WireOptions } from '../../api/transport.js';
import type { InputSchema } from '../../core/check-names.js';
import { schemaProblems } from '../../core/check-value.js';
import { UsageError } from '../../core/errors/coded-error.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { RateProfile } from '../../core/limiter/rate.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { Sinks } from '../../core/rows/sink.js';
import { loneSecret } from '../config/alert-setting.js';
import { mistakeText, type Setting, shownText } from '../config/setting.js';
import { optionSettings, type Values, valuesOf } from '../config/settings.js';

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
  /**
   * Places of your own that jobs load into, by name (`a-z`, digits, `_`): `{ snowflake: { load } }` for `into: 'sink:snowflake'` of
   * `enrichCsv`, `syncEvents`, `backfillEvents` and `exportMonitorRuns`. Default: none.
   */
  readonly sinks?: Sinks;
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

const optionTable: Readonly<Record<keyof SearchflowPluginOptions, Setting<unknown>>> = optionSettings;
const schema: InputSchema = {
  type: 'object',
  properties: Object.fromEntries(Object.entries(optionTable).map(([name, one]) => [name, one.schema])),
  ...{ required: ['apiKey'], additionalProperties: false },
};

/** Whether the worker has a record: a folder or a database. */
export const hasRecord = ({ stateDir, store }: SearchflowPluginOptions): boolean => (stateDir ?? store) !== undefined;

/** The settings in the options of the plugin. Throws `UsageError` with all mistakes. Options that are undefined count as absent. */
export function readOptions(options: SearchflowPluginOptions): Values {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError('setting-invalid', "SearchflowPlugin takes an object of options, such as { apiKey: '…' }.");
  const problems = [...schemaProblems('SearchflowPlugin', options, schema)];
  const values = valuesOf(process.cwd(), (name, { schema, make }) => {
    const value = options[name as keyof SearchflowPluginOptions];
    if (!(name in optionTable) || value === undefined || schemaProblems('', value, schema).length > 0) return undefined;
    try {
      return make ? make(value as never, process.cwd()) : value;
    } catch (error) {
      const shown = schema.writeOnly || typeof value !== 'string' ? 'the value (not shown)' : shownText(value);
      problems.push(mistakeText(name, shown, null, error));
      return undefined;
    }
  });
  problems.push(...misfits(options));
  if (problems.length > 0) throw new UsageError('setting-invalid', problems.join('\n'));
  return values;
}

/** The mistakes of options that do not fit each other. */
function misfits(options: SearchflowPluginOptions): readonly string[] {
  const { limiter, alertSecret, alertUrl } = options;
  const needing = Object.entries(optionTable).filter(
    ([name, { ofRecord }]) => ofRecord && options[name as keyof SearchflowPluginOptions] !== undefined,
  );
  const found = [];
  if (hasRecord(options) && limiter !== undefined)
    found.push('limiter is for a worker without a record: pass neither stateDir nor store.');
  if (!hasRecord(options) && needing.length > 0)
    found.push(`${needing.map(([name]) => name).join(', ')}: jobs need a record. Pass stateDir or store.`);
  if (alertSecret !== undefined && alertUrl === undefined) found.push(loneSecret('alertSecret', 'alertUrl'));
  return found;
}
