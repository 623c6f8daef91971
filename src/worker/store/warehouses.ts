import { hostname } from 'node:os';
import type { AgentRunWarehouses, WalkWarehouses } from '../../activities/base/deps.js';
import type { MonitorWarehouses } from '../../activities/base/monitor-warehouses.js';
import { Secret } from '../../core/connections/secret.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import type { Publisher } from '../../core/publish-request.js';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';
import { sinkOf } from '../../core/rows/sink.js';
import { WarehouseBusy, WarehouseUnusable, type WorkerRefusal } from '../../core/rows/warehouse-errors.js';
import { PostgresRefused, strictest, withTlsOf } from '../../postgres/index.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { createWarehouses, type OpenedWarehouse } from '../../warehouse/index.js';
import type { Allowlist } from '../config/allowlist.js';
import { isSameServer } from '../config/database-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { isSameWarehouse } from '../config/warehouse-setting.js';
import { openSinks } from './sinks.js';

/** The warehouses of a process, for jobs, walks and monitors, and the secret files. */
export interface OpenWarehouses {
  of(staged: Pick<StagedJob, 'into' | 'host'>): RowWarehouse;
  publisher(ref: Pick<StagedJob, 'into' | 'host'>): Publisher;
  readonly events: WalkWarehouses;
  readonly monitors: MonitorWarehouses;
  readonly agentRuns: AgentRunWarehouses;
  close(): Promise<void>;
}

/**
 * Opens warehouses with the credentials of the configuration, which jobs do not contain. A file of another machine gives `WarehouseBusy`,
 * so that the activities of this file are retried until a worker of that machine gets them. `allowlist`: names that events and monitors may
 * use. `oneOfMany`: a database that refuses this worker's login also gives `WarehouseBusy`, because another worker may log in.
 */
export function openWarehouses(
  config: Pick<RuntimeConfig, 'say' | 'warehouse' | 'duckDbExtensions' | 'sinks' | 'stateDir' | 'store'>,
  oneOfMany: boolean,
  allowlist: Pick<Allowlist, 'check'> | null = null,
): OpenWarehouses {
  const { say, warehouse, duckDbExtensions } = config;
  const sinks = openSinks(config);
  const warehouses = createWarehouses({
    say,
    extensions: duckDbExtensions,
    check: allowlist ? (names) => allowlist.check(names) : undefined,
    credentialsFor: (address) => {
      if (!warehouse) return null;
      const own = warehouse.url.reveal();
      if (isSameWarehouse(address, warehouse.shown)) return new Secret(strictest(own, address));
      // A connection to another database of the same server uses the same certificates, and encryption that is not weaker.
      return isSameServer(address, own) ? new Secret(withTlsOf(address, own)) : null;
    },
  });
  const refusals: Refusals = new Map();
  const at = ({ into, host }: WarehouseRef): OpenedWarehouse => {
    onlyHere(`The warehouse ${into}`, host);
    const sink = sinkOf(into);
    return sink === null ? warehouses.open(into) : sinks.open(sink);
  };
  const allowed = async (ref: WarehouseRef): Promise<OpenedWarehouse> => {
    onlyHere(`The warehouse ${ref.into}`, ref.host);
    await allowlist?.check({ into: ref.into });
    return at(ref);
  };
  // Each warehouse is wrapped once, because the windows of all walks into one warehouse share its loads.
  const wrapped = onceForEach((kind: object, into: string) => leftToOthers(kind, { into, refusals, say }));
  const left = <Kind extends object>(kind: Kind, into: string): Kind =>
    oneOfMany ? (wrapped(kind, into) as Kind) : kind;
  return {
    of: (staged) => left(at(staged).rows, staged.into),
    publisher: (ref) => at(ref).publisher,
    events: { warehouse: async (ref) => left((await allowed(ref)).events, ref.into) },
    agentRuns: { warehouse: async (ref) => left((await allowed(ref)).agentRuns, ref.into) },
    monitors: {
      async warehouse(ref) {
        const { audit, runs, close } = (await allowed(ref)).monitors;
        const { into } = ref;
        return { audit: left(audit, into), runs: left(runs, into), close };
      },
      async secrets({ file, host }) {
        onlyHere(`The secret file ${file}`, host);
        const secrets = new FileSecrets(file);
        await allowlist?.check({ secretFile: secrets.file });
        return secrets;
      },
    },
    close: async () => {
      await warehouses.close();
      await sinks.close();
    },
  };
}

type WarehouseRef = Pick<StagedJob, 'into' | 'host'>;

function onlyHere(subject: string, host: string | undefined): void {
  if (host !== undefined && host !== hostname())
    throw new WarehouseBusy('file-on-another-machine', `${subject} is a file on ${host}. Run a worker there`, null);
}

/** Refused logins by address: the message, and the time (`performance.now()`) after which the login is tried again. */
type Refusals = Map<string, { readonly sentence: string; readonly until: number }>;

/** Interval of login attempts, because a worker without credentials receives a slice every few seconds. */
const ASK_AGAIN_MS = 60_000;

interface Refusing extends Pick<RuntimeConfig, 'say'> {
  readonly into: string;
  readonly refusals: Refusals;
}

const refusal = {
  host: hostname(),
  pid: process.pid,
  waitsFor: 'a worker that can log in to the warehouse',
} satisfies WorkerRefusal;

/** Wraps a warehouse: a refused login is reported once and becomes `WarehouseBusy`, so that another worker takes the slice or window. */
function leftToOthers<Kind extends object>(warehouse: Kind, { into, refusals, say }: Refusing): Kind {
  const reported = (error: unknown): unknown => {
    const cause = error instanceof WarehouseUnusable ? error.cause : null;
    if (!(cause instanceof PostgresRefused) || !/^(28|3D)/.test(cause.code ?? '')) return error;
    const sentence = `A worker on ${hostname()} (PID ${process.pid}) cannot load: ${(error as WarehouseUnusable).message}`;
    if (!refusals.has(into)) say(sentence);
    refusals.set(into, { sentence, until: performance.now() + ASK_AGAIN_MS });
    return new WarehouseBusy('postgres-refused', sentence, null, refusal);
  };
  return new Proxy(warehouse, {
    get(found, name) {
      const method: unknown = Reflect.get(found, name, found);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        const refused = refusals.get(into);
        if (refused && performance.now() < refused.until && name !== 'close')
          throw new WarehouseBusy('postgres-refused', refused.sentence, null, refusal);
        try {
          const result: unknown = await method.apply(found, args);
          if (name !== 'close') refusals.delete(into);
          return result;
        } catch (error) {
          throw reported(error);
        }
      };
    },
  });
}
