import {
  cancelAgentRunEndpoint,
  createAgentRunEndpoint,
  deleteAgentRunEndpoint,
  getAgentRunEndpoint,
  listAgentRunEventsEndpoint,
  listAgentRunsEndpoint,
  stopAgentRunEndpoint,
} from './endpoints/agent-runs.js';
import { agentRunEventStream, agentRunStream } from './endpoints/agent-streams.js';
import { answerEndpoint } from './endpoints/answer.js';
import { answerStream, searchStream } from './endpoints/answer-streams.js';
import { contentsEndpoint } from './endpoints/contents.js';
import { getEventEndpoint, listEventsEndpoint } from './endpoints/events.js';
import { findSimilarEndpoint } from './endpoints/find-similar.js';
import { batchMonitorsEndpoint } from './endpoints/monitor-batch.js';
import {
  createMonitorEndpoint,
  deleteMonitorEndpoint,
  getMonitorEndpoint,
  getMonitorRunEndpoint,
  listMonitorRunsEndpoint,
  listMonitorsEndpoint,
  triggerMonitorEndpoint,
  updateMonitorEndpoint,
} from './endpoints/monitors.js';
import {
  createResearchTaskEndpoint,
  getResearchTaskEndpoint,
  listResearchTasksEndpoint,
} from './endpoints/research.js';
import { searchEndpoint } from './endpoints/search.js';
import { getWebsetEndpoint, listWebsetItemsEndpoint, listWebsetsEndpoint } from './endpoints/websets.js';
import type { AnyEndpoint } from './wire/endpoint.js';

/**
 * THE TABLE: every operation of the service by the name of its function. The client, `docs/reference/operations.md` and the table tests are made
 * from this table. A new operation needs one row here and an endpoint. Each function rejects with `ApiError`, whose `verdict` holds the
 * meaning of the failure.
 */
export const operations = {
  /** Ranked results for a query, with page contents where requested. Paid, about $0.007. API reference: POST /search. */
  search: searchEndpoint,
  /**
   * Text, highlights and summaries of up to 100 pages. Paid, $0.001 for a page and content type. A page that fails is a status in
   * the answer, never an HTTP error. API reference: POST /contents.
   */
  getContents: contentsEndpoint,
  /** A direct answer to a question, with citations. Paid, about $0.005. API reference: POST /answer. */
  answer: answerEndpoint,
  /** Links similar to a URL. Paid. Deprecated by the service: use `search`. API reference: POST /findSimilar. */
  findSimilar: findSimilarEndpoint,
  /** Starts a research task from instructions and a schema of the output. Paid. API reference: POST /research/tasks. */
  createResearchTask: createResearchTaskEndpoint,
  /** A research task, with the result once the task is completed. 404 for an unknown id. API reference: GET /research/tasks/{id}. */
  getResearchTask: getResearchTaskEndpoint,
  /** The research tasks of the team, a page at a time. API reference: GET /research/tasks. */
  listResearchTasks: listResearchTasksEndpoint,
  /**
   * Creates a recurring search. Free; each of its runs is billed. `webhookSecret` is returned only here, as a `Secret`. API
   * reference: POST /monitors.
   */
  createMonitor: createMonitorEndpoint,
  /** The monitors of the team by status, part of the name, and metadata, 1–100 a page. API reference: GET /monitors. */
  listMonitors: listMonitorsEndpoint,
  /** One monitor. 404 for an unknown id. API reference: GET /monitors/{id}. */
  getMonitor: getMonitorEndpoint,
  /**
   * Changes a monitor: `search` may be partial, `trigger: null` removes its schedule. 404 for an unknown id. API reference: PATCH
   * /monitors/{id}.
   */
  updateMonitor: updateMonitorEndpoint,
  /** Deletes a monitor permanently and returns the deleted monitor. 404 for an unknown id. API reference: DELETE /monitors/{id}. */
  deleteMonitor: deleteMonitorEndpoint,
  /**
   * Deletes, pauses or unpauses all monitors that match; a dry run unless `dry_run: false`. API reference: POST /monitors/batch.
   */
  batchMonitors: batchMonitorsEndpoint,
  /**
   * Runs a monitor now. The run is billed. 400 with the reason for a `disabled` monitor, 404 for an unknown id. API reference: POST
   * /monitors/{id}/trigger.
   */
  triggerMonitor: triggerMonitorEndpoint,
  /** The runs of a monitor, newest first, 1–100 a page. API reference: GET /monitors/{id}/runs. */
  listMonitorRuns: listMonitorRunsEndpoint,
  /**
   * One run of a monitor, with the full output once the run is completed. 404 for an unknown id. API reference: GET
   * /monitors/{id}/runs/{runId}.
   */
  getMonitorRun: getMonitorRunEndpoint,
  /**
   * Starts an asynchronous agent run. Paid by usage. Takes two units of the rate; 429 `CONCURRENCY_LIMIT_REACHED` while 50 runs are in
   * progress. API reference: POST /agent/runs.
   */
  createAgentRun: createAgentRunEndpoint,
  /** One agent run. Not counted against the rate. 404 for an unknown id. API reference: GET /agent/runs/{id}. */
  getAgentRun: getAgentRunEndpoint,
  /** The agent runs of the team, newest first, 1–100 a page. Not counted against the rate. API reference: GET /agent/runs. */
  listAgentRuns: listAgentRunsEndpoint,
  /** Deletes a stored run. 404 for an unknown id. API reference: DELETE /agent/runs/{id}. */
  deleteAgentRun: deleteAgentRunEndpoint,
  /**
   * Cancels a run: the output is lost, the usage so far is billed. An ended run is returned unchanged. API reference: POST
   * /agent/runs/{id}/cancel.
   */
  cancelAgentRun: cancelAgentRunEndpoint,
  /** Ends a run early and keeps the output (`max` and `ultra` only, 400 otherwise). API reference: POST /agent/runs/{id}/stop. */
  stopAgentRun: stopAgentRunEndpoint,
  /** The stored events of a run, 1–100 a page. Not counted against the rate. API reference: GET /agent/runs/{id}/events. */
  listAgentRunEvents: listAgentRunEventsEndpoint,
  /** The events of the team's websets by type and time, 1–200 a page. API reference: GET /websets/v0/events. */
  listEvents: listEventsEndpoint,
  /** One event. 404 for an unknown id. API reference: GET /websets/v0/events/{id}. */
  getEvent: getEventEndpoint,
  /** The websets of the team, 1–100 a page. API reference: GET /websets/v0/websets. */
  listWebsets: listWebsetsEndpoint,
  /** One webset, by its id or its `externalId`. 404 for an unknown id. API reference: GET /websets/v0/websets/{id}. */
  getWebset: getWebsetEndpoint,
  /** The items of a webset, 1–100 a page, in no defined order. API reference: GET /websets/v0/websets/{id}/items. */
  listWebsetItems: listWebsetItemsEndpoint,
} as const;

/**
 * The streamed forms of operations, by the name of their function. Each function rejects with `StreamDropped` where the stream breaks off
 * before its end.
 */
export const streams = {
  /** A search whose synthesised output is streamed while it is written. Paid as `search`. API reference: POST /search. */
  streamSearch: searchStream,
  /** An answer, streamed while it is written. Paid as `answer`. API reference: POST /answer. */
  streamAnswer: answerStream,
  /**
   * Starts an agent run and follows the events of the run to the terminal event. Paid as `createAgentRun`. API reference: POST
   * /agent/runs.
   */
  streamAgentRun: agentRunStream,
  /** The stored events of a run after `lastEventId`; does not follow a run. API reference: GET /agent/runs/{id}/events. */
  streamAgentRunEvents: agentRunEventStream,
} as const;

export type Operations = typeof operations;
export type OperationName = keyof Operations;
export type Streams = typeof streams;

/** The operations that return one page of a list. */
export const listOperations = [
  'listResearchTasks',
  'listMonitors',
  'listMonitorRuns',
  'listAgentRuns',
  'listAgentRunEvents',
  'listEvents',
  'listWebsets',
  'listWebsetItems',
] as const satisfies readonly OperationName[];

export type ListOperation = (typeof listOperations)[number];

/** The table by name, for code that iterates over all operations. */
export const operationTable: Readonly<Record<OperationName, AnyEndpoint>> = { ...operations };
