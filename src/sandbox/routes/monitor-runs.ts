import { checkQuery, fromCursor, listQueryOf, pageOfList, toCursor } from '../base/refusal.js';
import { monitorRunRecord } from '../monitors/monitor-runs.js';
import { jsonWork, type Route } from '../route.js';

const listQuery = listQueryOf(100, 50, {});

/** `POST /monitors/{id}/trigger`: starts a run now, even if another run is in progress. Refused if the monitor is disabled. */
export const triggerMonitor: Route =
  (_input, { monitors }, { params }) =>
  () => {
    monitors.trigger(params.id as string);
    return jsonWork({ triggered: true });
  };

/** `GET /monitors/{id}/runs`: newest first. */
export const listMonitorRuns: Route = (_input, { monitors, pages }, { params, query }) => {
  const { limit, cursor } = checkQuery(listQuery, query);
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : fromCursor('monitor-runs', cursor);
  return () => {
    const runs = monitors.runsOf(params.id as string).filter(({ serial }) => serial < before);
    const { data, ...page } = pageOfList(runs, limit, ({ serial }) => toCursor('monitor-runs', serial));
    return jsonWork({ data: data.map((run) => monitorRunRecord(run, monitors.now, pages)), ...page });
  };
};

/** `GET /monitors/{id}/runs/{runId}`: one run, with its full output if it is completed. */
export const getMonitorRun: Route =
  (_input, { monitors, pages }, { params }) =>
  () => {
    const run = monitors.run(params.id as string, params.runId as string);
    return jsonWork(monitorRunRecord(run, monitors.now, pages));
  };
