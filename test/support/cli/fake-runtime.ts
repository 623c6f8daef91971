import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Context } from '../../../src/cli/shared/command.js';
import { watchInterrupts } from '../../../src/cli/shared/command.js';
import type { OutputFlags } from '../../../src/cli/shared/terminal.js';
import type { StagedJob } from '../../../src/core/job-entry-schemas.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import type { Spend } from '../../../src/core/purchase/spend.js';
import type { JobProgress, JobSummary } from '../../../src/core/row-job-schemas.js';
import type { EnrichRequest, JobPlan, RetryPlan } from '../../../src/worker/config/runtime-types.js';
import type { ForgetPlan } from '../../../src/worker/control/forget.js';
import type { JobHandle } from '../../../src/worker/control/job-handle.js';
import type { JobWork } from '../../../src/worker/runtime/job-work.js';
import type { Runtime } from '../../../src/worker/runtime/runtime.js';
import { idleView } from '../idle-view.js';
import { fakeTerminal } from './fake-terminal.js';

export const request: EnrichRequest = { input: 'brands.csv', options: {}, batch: 100 };

const staged: StagedJob = {
  job: 'brands-1',
  name: 'brands',
  origin: 'https://api.exa.ai',
  operation: 'contents',
  input: '/data/brands.csv',
  into: '/data/out/brands.duckdb',
  columns: ['name', 'source'],
  unitColumn: 'source',
  options: { text: true },
  batch: 100,
  generation: 'g1',
  rows: 200,
  badRows: 0,
  distinctUnits: 200,
  slices: 1,
  rowsPerSlice: 2000,
  window: 4,
  stageDir: '/data/.searchflow/stage',
};

export const plan: JobPlan = {
  staged,
  request,
  status: 'new',
  alreadyBought: 0,
  toBuy: 200,
  requests: 2,
  estimateMicros: 200_000,
  estimateIsMost: false,
  seconds: 0.2,
  perSecond: 10,
  badRows: [],
  notes: [],
};

/** A plan of `searchflow retry`: five failed rows of three URLs. */
export const retryPlan: RetryPlan = {
  staged: plan.staged,
  pick: { tags: ['CRAWL_TIMEOUT'] },
  ...{ rows: 5, units: 3, running: 0, tags: { CRAWL_TIMEOUT: 5 } },
  ...{ requests: 1, estimateMicros: 3000, estimateIsMost: false, seconds: 1, perSecond: 10 },
  allowedMicros: null,
  notes: [],
};

/** A plan of `searchflow forget`: two rows with one unit. */
export const forgetPlan: ForgetPlan = {
  subjects: { keys: ['a'.repeat(32)], badRows: [] },
  found: {
    ...{ kind: 'forgotten', state: 'plan', job: 'brands', url: null, jobs: ['brands-1'] },
    ...{ units: 1, rows: 2, slices: 1, stagedRows: 2, bodies: 1, bytes: 3000 },
    warehouses: [{ into: '/data/out/brands.duckdb', rows: 2 }],
    ...{ csvs: ['/data/out/brands.csv'], targets: ['out/published'], notes: [] },
  },
  isEmpty: false,
};

export const summary: JobSummary = {
  job: 'brands-1',
  name: 'brands',
  phase: 'done',
  into: '/data/out/brands.duckdb',
  csv: null,
  warehouse: { rows: 200, success: 195, error: 5, invalid: 0, missing: 0, vanished: 0, tags: { CRAWL_NOT_FOUND: 5 } },
  requests: 2,
  costMicros: 195_000,
  estimateMicros: 195_000,
  totalCostMicros: 195_000,
  unknownOutcomes: 0,
  seconds: 1,
};

export const progress: JobProgress = {
  phase: 'running',
  pausedFor: null,
  message: null,
  job: 'brands-1',
  rows: 200,
  rowsDone: 0,
  slices: 1,
  slicesDone: 0,
  failed: 0,
  requests: 0,
  costMicros: 0,
  earlierMicros: 0,
  unknownOutcomes: 0,
  startedAt: 0,
};

/** A job that runs until a test ends it. */
export function fakeHandle(changes: Partial<JobHandle> = {}): JobHandle {
  return {
    job: 'brands-1',
    workflowId: 'searchflow-brands-1',
    progress: async () => ({ progress, running: [] }),
    pause: async () => undefined,
    resume: async () => undefined,
    cancel: async () => undefined,
    result: () => new Promise(() => undefined),
    wayToResume: () => 'To resume it:\n  searchflow resume brands-1',
    ...changes,
  };
}

const nothing = { since: 0, landedMicros: 0, openMicros: 0, unknownMicros: 0 };
export const spend: Spend = {
  caps: async () => ({ dayMicros: null, monthMicros: null }),
  setCaps: async (caps) => ({ dayMicros: null, monthMicros: null, ...caps }),
  spent: async () => ({ day: nothing, month: nothing }),
  counted: async () => 0,
  usage: async () => [],
};

/** The methods of a runtime and of its views; all names differ. */
type Answers = Runtime['rows'] &
  Runtime['jobs'] &
  Pick<JobWork, 'plan' | 'start' | 'resume' | 'retry' | 'reparse' | 'own' | 'checkDetached' | 'runWorker'> &
  Runtime['team'] &
  Omit<Runtime, 'rows' | 'jobs' | 'work' | 'team'>;
export type RuntimeAnswers = Partial<Answers>;

/** A runtime that answers from memory. `calls` lists the calls of its methods, `asked` their arguments. */
export function fakeRuntime(changes: RuntimeAnswers = {}): {
  readonly runtime: Runtime;
  readonly calls: string[];
  readonly asked: unknown[][];
} {
  const calls: string[] = [];
  const asked: unknown[][] = [];
  const parts: Answers = {
    shared: false,
    testAlerts: async () => [],
    clientOnly: null,
    plan: async () => plan,
    start: async () => fakeHandle({ result: async () => summary }),
    resume: async () => fakeHandle(),
    unblock: async () => true,
    planRetry: async () => retryPlan,
    planForget: async () => forgetPlan,
    forget: async ({ found }) => ({ ...found, state: 'done' }),
    clean: async ({ dryRun }) => ({
      ...({ kind: 'cleaned', dryRun, items: [], bytes: 0 } as const),
      ...{ folder: '/data/.searchflow', before: 0, after: 0, notes: [] },
    }),
    discard: async (_, { undo }) => ({
      ...({ kind: 'discarded', undo, job: 'brands-1', name: 'brands' } as const),
      ...{ rows: 5, discarded: 5, failed: 0 },
    }),
    retry: async () => fakeHandle({ result: async () => summary }),
    own: async () => undefined,
    checkDetached: async () => undefined,
    owned: async () => [{ job: 'brands-1', workflowId: 'searchflow-brands-1' }],
    isAbandoned: async () => false,
    statusOfWalk: () => Promise.reject(new Error('there is no walk')),
    release: async () => undefined,
    stop: async () => undefined,
    attach: async () => fakeHandle(),
    status: async (job) => ({ job, name: job, phase: 'done', message: null, since: null, shown: null }),
    checkTargets: async () => undefined,
    export: async (_job, csv) => ({ rows: 200, bytes: 1, file: `/data/${csv}` }),
    exportParquet: async (_job, dir) => ({ rows: 200, files: 1, bytes: 1, folder: `/data/${dir}` }),
    publish: async ({ to, mode }) => ({
      ...{ id: '20261123T000000Z-00000000', at: '2026-11-23T00:00:00.000Z', run: 'run-1', mode, target: `/data/${to}` },
      ...{ changed: true, tables: [{ name: 'brands', rows: 200, total: 200 }] },
    }),
    checkPublish: async () => undefined,
    report: () => Promise.reject(new Error('there is no report')),
    reparse: async () => ({ answers: 0, understood: 0, rows: 0 }),
    summary: async () => ({ ...summary, requests: 0, costMicros: 0 }),
    known: async () => [],
    list: async () => [],
    walks: async () => [],
    inFlight: () => 3,
    unknownOutcomes: async () => [],
    failed: async (job) => ({ kind: 'failed', job, into: staged.into, rows: 0, byTag: [], listed: [] }),
    trace: () => Promise.reject(new Error('there are no rows')),
    otherLimits: async () => [],
    limits: async () => idleView(flatProfile(10)),
    slots: async () => ({ limit: 50, held: 0, elsewhere: 0, leftRunning: 0, waiting: 0 }),
    spend: async () => spend,
    runWorker: async (running) => running(),
    calls: () => Promise.reject(new Error('there is no service')),
    workflows: () => Promise.reject(new Error('there is no server')),
    close: async () => undefined,
    ...changes,
  };
  const views: readonly string[] = ['rows', 'jobs', 'team'];
  const runtime: unknown = new Proxy(parts, {
    get(target, name: keyof Answers): unknown {
      if (views.includes(name)) return runtime;
      if ((name as string) === 'work')
        return async (agreed: unknown = null) => {
          if (agreed) asked.push(['work', agreed]);
          return runtime;
        };
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (!['limits', 'inFlight'].includes(name)) calls.push(name === 'close' ? `close ${String(args[0])}` : name);
        if (args.length > 0 && name !== 'close') asked.push([name, ...args]);
        return (value as (...given: unknown[]) => unknown)(...args);
      };
    },
  });
  return { runtime: runtime as Runtime, calls, asked };
}

const service = { url: '' };

/** Starts a server at which a command finds its service reachable; returns its address and a function that ends it. */
export async function listen(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: service.url, close: () => server.close() };
}

/** The context of a command. Its environment has a key, so that no sandbox is started. `press` sends a signal. */
export function fakeContext(
  runtime: Runtime,
  options: {
    readonly tty?: boolean;
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly flags?: OutputFlags;
  } = {},
) {
  const env = options.env ?? { SEARCHFLOW_API_KEY: 'canary-5f2e91c4', SEARCHFLOW_BASE_URL: service.url };
  const { terminal, out, err } = fakeTerminal({ ...options, env });
  const signals = new EventEmitter();
  let clock = 0;
  const context: Context = {
    env,
    cwd: '/data',
    args: ['enrich', 'brands.csv'],
    terminal,
    interrupts: watchInterrupts(signals, () => clock),
    openRuntime: async () => runtime,
  };
  const press = (name: 'SIGINT' | 'SIGTERM' = 'SIGINT') => {
    clock += 1000;
    signals.emit(name, name);
  };
  return { context, out, err, press };
}
