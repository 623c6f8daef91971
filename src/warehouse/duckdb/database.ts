import { resolve } from 'node:path';
import type { Publisher } from '../../core/publish-request.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { whyNoDatabase } from './driver/why-not-a-warehouse.js';
import { createDuckDbEvents } from './duckdb-events.js';
import { createDuckDbAgentRuns, createDuckDbMonitors } from './duckdb-monitors.js';
import { createDuckDbRows } from './duckdb-rows.js';
import { Warehouse } from './warehouse.js';

const absolute = (address: string, cwd: string) => resolve(cwd, address);

/** DuckDB files. A path has no form of its own, so each address that no other database claims is a path. */
export const duckDb: WarehouseDatabase = {
  form: 'the path of a DuckDB file',
  claims: () => true,
  addressOf: absolute,
  identityOf: absolute,
  fileOf: absolute,
  whyNoFile: whyNoDatabase,
  open(address, { say = () => undefined, credentialsFor, extensions, check }) {
    const options = { file: resolve(address), say, check };
    const rows = createDuckDbRows(options);
    const [events, monitors] = [createDuckDbEvents(options), createDuckDbMonitors(options)];
    // Loaded by the first publish, because few commands publish.
    const loaded = async () =>
      (await import('./duckdb-publisher.js')).duckDbPublisher(Warehouse.at(options.file, check), {
        ...{ say, credentialsFor, extensions },
      });
    const publisher: Publisher = {
      publish: async (request) => (await loaded()).publish(request),
      check: async (to) => (await loaded()).check(to),
    };
    const agentRuns = createDuckDbAgentRuns(options);
    return { rows, events, monitors, agentRuns, publisher, close: () => rows.close() };
  },
};
