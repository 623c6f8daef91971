import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { DataConverter } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  type NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { AllActivities } from '../../activities/index.js';
import { ENCRYPTS_FAILURES } from '../../core/processes/encrypted-failures.js';
import { inPackage } from '../../files/package-root.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { failureConverterPath } from '../data-converter/data-converter.js';
import type { Pollers } from '../team/pollers.js';
import { identityOf, recordId } from '../team/team.js';
import { deploymentOptions, workerDefaults, workflowSinks } from './worker-options.js';

/**
 * The workflow code: the bundle from build time if it was made with the installed SDK; else the sources, which are bundled in seconds when
 * the worker starts. A bundle contains a part of the SDK and needs a worker of the same version. A data converter with converters of its
 * own, other than codecs, becomes a part of the bundle.
 */
export function workflowSource(
  dataConverter: DataConverter | null = null,
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const { payloadConverterPath, failureConverterPath: path } = dataConverter ?? {};
  const bundle = inPackage('dist', 'worker', 'workflow-bundle.js');
  const madeWith = inPackage('dist', 'worker', 'workflow-bundle.sdk');
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  const encrypts = path === failureConverterPath;
  const isOwn = payloadConverterPath === undefined && (path === undefined || encrypts);
  if (!isOwn || !existsSync(madeWith) || readFileSync(madeWith, 'utf8') !== version)
    return { workflowsPath: inPackage('dist', 'workflows', 'index.js') };
  // The failure converter of the bundle reads this variable, see `workflows/failure-converter`.
  if (encrypts)
    return { workflowBundle: { code: `globalThis.${ENCRYPTS_FAILURES}=true;${readFileSync(bundle, 'utf8')}` } };
  return { workflowBundle: { codePath: bundle } };
}

/** A running worker; `stop` drains it. */
export type RunningWorker = ReturnType<typeof runWorker>;

/** Parts of a worker that not every worker has. */
export interface WorkerParts {
  readonly dataConverter: DataConverter | null;
  /** Its version; null: an unversioned worker. */
  readonly deployment: RuntimeConfig['deployment'];
  readonly watch: ActivityInterceptorsFactory | null;
  readonly pollers: Pollers;
}

/** Creates a worker, which polls nothing before it runs. */
export function createWorker(
  config: RuntimeConfig,
  connection: NativeConnection,
  activities: AllActivities,
  { dataConverter, deployment, watch, pollers }: WorkerParts,
): Promise<Worker> {
  const whenAdmitted: ActivityInterceptorsFactory = () => ({
    inbound: {
      execute: async (input, next) => {
        await pollers.admitted;
        return next(input);
      },
    },
  });
  return Worker.create({
    ...workerDefaults,
    ...workflowSource(dataConverter),
    dataConverter: dataConverter ?? undefined,
    workerDeploymentOptions: deployment ? deploymentOptions(deployment) : undefined,
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    identity: identityOf(recordId(config)),
    activities,
    sinks: workflowSinks,
    interceptors: { activity: watch ? [whenAdmitted, watch] : [whenAdmitted] },
  });
}

/** Runs a worker, unless or until one of its pollers has another record. */
export function runWorker(worker: Worker, pollers: Pollers) {
  const ended = pollers.run(worker, () => worker.run());
  // The failure is reported to callers that await `ended`. Without such a caller, the failure must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    /** Resolves when the worker has stopped; rejects if it failed. */
    ended,
    isRunning: () => worker.getState() === 'RUNNING',
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}
