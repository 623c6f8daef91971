import { hostname } from 'node:os';
import type { MonitorPlaces } from '../activities/monitor-places.js';
import { SinkBusy } from '../core/sink.js';
import { createMonitorWarehouses } from '../sinks/index.js';
import { FileSecrets } from '../store/file-secrets.js';
import type { RuntimeConfig } from './runtime-types.js';

/** The warehouses and secret files of a process, as the workflows for monitors name them; a file of another machine is `SinkBusy`. */
export function openMonitorPlaces({
  say,
  warehouse,
}: Pick<RuntimeConfig, 'say' | 'warehouse'>): MonitorPlaces & { close(): Promise<void> } {
  const warehouses = createMonitorWarehouses({
    say,
    credentialsFor: (address) => (warehouse?.shown === address ? warehouse.url : null),
  });
  const onlyHere = (what: string, host: string | undefined): void => {
    if (host !== undefined && host !== hostname())
      throw new SinkBusy(`${what} is a file on ${host}, where a worker must run for it`, null);
  };
  return {
    warehouse({ into, host }) {
      onlyHere(`The warehouse ${into}`, host);
      return warehouses.open(into);
    },
    secrets({ file, host }) {
      onlyHere(`The secret file ${file}`, host);
      return new FileSecrets(file);
    },
    close: () => warehouses.close(),
  };
}
