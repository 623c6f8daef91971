import { realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { needsRecord } from '../../activities/alone.js';
import type { AllActivities } from '../../activities/index.js';
import type { Activities } from '../../activities/types.js';
import { operationTable } from '../../api/operations.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { monitorWorkflows } from '../../core/monitors/monitor-names.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { workflowNames } from '../../core/rows/job-names.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { Values } from '../config/settings.js';
import { deploymentOf } from '../config/temporal-setting.js';
import { identityOf, recordId } from '../store/team.js';
import { type AloneConfig, aloneConfig, type OpenedParts, openAlone } from './alone.js';
import { hasRecord, readOptions, type SearchflowPluginOptions } from './plugin-options.js';
import { deploymentOptions, workflowSinks } from './worker-options.js';

/**
 * searchflow in your own worker: `Worker.create({ plugins: [new SearchflowPlugin({ apiKey })], … })` adds the activities. Journal,
 * limiter and warehouse are opened when the worker runs and closed when it has stopped. Plugins cannot contain workflows, so your
 * workflows file needs `export * from 'searchflow/workflows'`. Throws `UsageError` for invalid options; a folder of the record that
 * cannot be used is an error of `worker.run()`.
 */
export class SearchflowPlugin extends SimplePlugin {
  readonly #opened: Opened;
  readonly #operations: boolean;
  /** Id of the record; null without one. */
  readonly #record: string | null;
  readonly #versioned: boolean;
  readonly #hasAlerts: boolean;
  readonly #say: (sentence: string) => void;

  constructor(options: SearchflowPluginOptions) {
    const values = readOptions(options);
    const { operations, stateDir, store = null } = values;
    const config = aloneConfig(values);
    const isAlone = !hasRecord(options);
    const opened: Opened = { parts: null, options: null, worker: null };
    super({
      name: 'searchflow.SearchflowPlugin',
      activities: forwarded(opened, activityNames(operations)),
      runContext: async (next) => {
        const parts = isAlone ? openAlone(config, values.limiter ?? null) : await openRecord(values, config, opened);
        try {
          opened.parts = parts;
          await (parts.pollers && opened.worker ? parts.pollers.run(opened.worker, next) : next());
        } finally {
          opened.parts = null;
          await parts.close();
        }
      },
    });
    this.#opened = opened;
    this.#operations = operations;
    this.#record = isAlone ? null : recordId({ stateDir, store });
    this.#versioned = values.versioned;
    this.#hasAlerts = (values.alertUrl ?? values.alertCommand) !== undefined;
    this.#say = config.say;
  }

  /**
   * Reads answers that were too large for a workflow's history, by the keys of their reference (`landed`). For your own activities in the
   * same worker. Unknown keys are left out. Rejects if the worker is not running, or has no record.
   */
  async readLanded(keys: readonly string[]): Promise<readonly UnitRecord[]> {
    const { journal } = openedParts(this.#opened);
    if (!journal) throw needsRecord('readLanded');
    const found = await journal.read(keys);
    return keys.flatMap((key) => found.get(key) ?? []);
  }

  /**
   * Adds the activities and a sink of the workflows. With a record, adds its id to the identity. With `versioned`, adds the version in
   * `TEMPORAL_DEPLOYMENT_NAME` and `TEMPORAL_WORKER_BUILD_ID` unless the owner has set a version. Leaves all other options to the owner.
   * Throws `UsageError` if an activity of the worker has the name of an activity of the plugin.
   */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    refuseSameNames(Object.keys(options.activities ?? {}), this.#operations);
    this.#opened.options = options;
    const { useVersioning, buildId, workerDeploymentOptions = null } = options;
    const isSet = useVersioning || buildId || workerDeploymentOptions;
    const deployment = this.#versioned && !isSet ? deploymentOfEnvironment() : null;
    return super.configureWorker({
      ...options,
      workerDeploymentOptions: deployment ? deploymentOptions(deployment) : options.workerDeploymentOptions,
      ...(this.#record !== null && { identity: identityOf(this.#record, options.identity) }),
      sinks: { ...options.sinks, ...workflowSinks },
    });
  }

  /**
   * Runs the worker. If the plugin refuses to run the worker, it also ends the worker, whose connection and threads would otherwise remain.
   */
  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    this.#opened.worker = worker;
    try {
      await super.runWorker(worker, next);
    } catch (error) {
      if (worker.getState() === 'INITIALIZED') await endUnrun(worker, next);
      throw error;
    }
  }

  /** Adds a check that warns of workflows that replace those of searchflow. */
  override configureBundler(options: BundleOptions): BundleOptions {
    // Without a record the worker needs no workflow of searchflow.
    if (this.#record === null) return super.configureBundler(options);
    const { webpackConfigHook = (config) => config, ...others } = super.configureBundler(options);
    return {
      ...others,
      webpackConfigHook: (config) => {
        const { plugins = [], ...rest } = webpackConfigHook(config);
        return {
          ...rest,
          plugins: [...plugins, hiddenWorkflows(others.workflowsPath, this.#hasAlerts, this.#say)],
        };
      },
    };
  }
}

/**
 * Starts a worker and shuts it down at once, because only a worker that has run can be ended. The SDK calls
 * `registerShutdownSignalCallback` right before the first poll, which other workers would see.
 */
async function endUnrun(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
  let isOver = false;
  const registerShutdownSignalCallback = (shutdown: () => void) => shutdown();
  const runtime: unknown = Reflect.get(worker, 'runtime');
  // A later SDK may have no such field. Then the worker polls once before it ends.
  if (typeof runtime === 'object' && runtime !== null)
    Reflect.set(worker, 'runtime', Object.assign(Object.create(runtime), { registerShutdownSignalCallback }));
  const ended = next(worker)
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  // The start of the worker is awaited, because other plugins may run before the worker starts.
  while (!isOver && worker.getState() === 'INITIALIZED') await setImmediate();
  if (worker.getState() === 'RUNNING') worker.shutdown();
  await ended;
}

/** The version of the worker in Temporal's own variables; null without them. Throws `UsageError` if only one of them is set. */
function deploymentOfEnvironment(): RuntimeConfig['deployment'] {
  const found = deploymentOf(process.env);
  if (typeof found === 'string') throw new UsageError('setting-invalid', found);
  return found;
}

/** The modules of jobs, with their databases, are loaded only by a worker with a record. */
async function openRecord(values: Values, alone: AloneConfig, { options, worker }: Opened) {
  const { openRecord, recordConfig } = await import('./record.js');
  return openRecord(recordConfig(values, alone), options, worker);
}

/** State that exists only while the worker runs. */
interface Opened {
  parts: OpenedParts | null;
  /** Options of the worker, as its owner gave them. */
  options: WorkerOptions | null;
  /** The worker with the options of all plugins. */
  worker: Worker | null;
}

function openedParts({ parts }: Readonly<Opened>): OpenedParts {
  if (!parts) throw new Error('the worker is not running');
  return parts;
}

/** Activities of searchflow's workflows. The type of this record checks that none is missing. */
const ownActivities: Readonly<Record<Exclude<keyof AllActivities, keyof Activities> | 'deleteAgentRun', true>> = {
  enrichSlice: true,
  planEnrichRows: true,
  buyEnrichRows: true,
  retryRows: true,
  stageInput: true,
  openJob: true,
  jobSpent: true,
  endRuns: true,
  openRetry: true,
  finishJob: true,
  publishJob: true,
  noteAlert: true,
  sendAlert: true,
  agentRun: true,
  endAgentRun: true,
  deleteAgentRun: true,
  researchRun: true,
  openWalk: true,
  walkWindow: true,
  finishWalk: true,
  planMonitorBatch: true,
  decideMonitorBatch: true,
  affectMonitors: true,
  finishMonitorBatch: true,
  callMonitor: true,
  makeMonitor: true,
  findMadeMonitors: true,
  exportMonitors: true,
  exportRunSlice: true,
  syncRunSlice: true,
};

export function activityNames(operations: boolean): readonly (keyof AllActivities)[] {
  const callable = operations ? [...Object.keys(operationTable), 'readAnswer'] : [];
  const names = new Set([...callable, ...Object.keys(ownActivities)]);
  return [...names] as (keyof AllActivities)[];
}

/**
 * Throws `UsageError` if activities of the worker have the names of activities of the plugin: those of the worker would never be called.
 */
function refuseSameNames(names: readonly string[], operations: boolean): void {
  const ours: readonly string[] = activityNames(operations);
  const same = names.filter((name) => ours.includes(name));
  if (same.length === 0) return;
  const them = same.length === 1 ? 'it' : 'them';
  const isOptional = same.every((name) => !(name in ownActivities));
  throw new UsageError(
    'setting-invalid',
    `Activities of this worker have the same names as searchflow's: ${same.join(', ')}. Rename ${them}${isOptional ? ', or pass operations: false to SearchflowPlugin' : ''}.`,
  );
}

/** Activities that forward to those of the opened parts: a worker needs its activities when it is created, before the parts are opened. */
function forwarded(
  opened: Readonly<Opened>,
  names: readonly (keyof AllActivities)[],
): Record<string, (...args: never[]) => Promise<unknown>> {
  const call =
    (name: keyof AllActivities) =>
    async (...args: never[]) => {
      const { activities, pollers } = openedParts(opened);
      const { [name]: activity } = activities;
      if (!activity) throw needsRecord(`The activity ${name}`);
      await pollers?.admitted;
      return (activity as (...args: never[]) => Promise<unknown>)(...args);
    };
  return Object.fromEntries(names.map((name) => [name, call(name)]));
}

/** The part of webpack's interface that is used here. */
interface Module {
  readonly resource?: string;
  readonly buildMeta?: { readonly exportsType?: string };
  readonly dependencies: readonly { readonly request?: string }[];
}
interface ExportInfo {
  readonly provided?: boolean | null;
  getTarget(graph: unknown): { readonly module: Module } | undefined;
}
interface Compilation {
  readonly modules: Iterable<Module>;
  readonly moduleGraph: {
    getModule(dependency: unknown): Module | null;
    getExportInfo(module: Module, name: string): ExportInfo;
  };
}
interface Compiler {
  readonly hooks: { readonly done: { tap(name: string, done: (stats: { compilation: Compilation }) => void): void } };
}

const names = [...Object.values(workflowNames), ...Object.values(monitorWorkflows)];

/**
 * Webpack plugin that warns if a workflows file with alerts does not export the workflow that delivers them, or exports a workflow of its own under one of their
 * names: such an export silently takes precedence over `export *`. For ES modules only, because the exports of CommonJS are known only at
 * run time.
 */
function hiddenWorkflows(workflowsPath: string, hasAlerts: boolean, warn: (sentence: string) => void) {
  const check = ({ modules, moduleGraph }: Compilation): void => {
    const uses = [...modules].flatMap(({ dependencies }) => dependencies);
    const entry = uses.find(({ request }) => request === workflowsPath);
    const module = entry && moduleGraph.getModule(entry);
    if (module?.buildMeta?.exportsType !== 'namespace') return;
    const ours = join(dirname(realpathSync(fileURLToPath(new URL('../../workflows/index.js', import.meta.url)))), sep);
    const hidden = names.filter((name) => {
      const info = moduleGraph.getExportInfo(module, name);
      const from = info.getTarget(moduleGraph)?.module.resource ?? module.resource ?? '';
      return info.provided === true && !from.startsWith(ours);
    });
    if (hidden.length > 0) {
      warn(
        `${workflowsPath} exports its own ${hidden.join(', ')}, which replaces searchflow's workflow of the same name. Rename yours.`,
      );
    }
    const { deliverAlert } = workflowNames;
    if (hasAlerts && moduleGraph.getExportInfo(module, deliverAlert).provided === false)
      warn(
        `${workflowsPath} does not export ${deliverAlert}, which delivers alerts. Add this line:\nexport { ${deliverAlert} } from 'searchflow/workflows';`,
      );
  };
  return {
    apply: (compiler: object) =>
      (compiler as Compiler).hooks.done.tap('searchflow', ({ compilation }) => check(compilation)),
  };
}
