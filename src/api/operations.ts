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
 * THE TABLE: every operation of the interface by the name of its function. The client, `docs/operations.md` and the table tests are
 * made from it; a new operation is one row here and its endpoint. Each rejects with `ApiError`, whose `verdict` holds the meaning of
 * the failure (interface section 7).
 */
export const operations = {
  /** Ranked results for a query, with page contents where requested (interface section 4.1). Paid, about $0.007. */
  search: searchEndpoint,
  /**
   * Text, highlights and summaries of up to 100 pages (interface section 4.2). Paid, $0.001 for a page and content type. A page that
   * fails is a status in the answer, never an HTTP error.
   */
  getContents: contentsEndpoint,
  /** A direct answer to a question, with citations (interface section 4.3). Paid, about $0.005. */
  answer: answerEndpoint,
  /** Links similar to a URL (interface section 4.4). Paid. Deprecated by the service: use `search`. */
  findSimilar: findSimilarEndpoint,
  /**
   * Starts a research task from instructions and a schema of its output (interface section 4.5). Paid. Retired by the public
   * service; `variant: 'v0'` and `'v1'` are its older paths (public facts 6).
   */
  createResearchTask: createResearchTaskEndpoint,
  /** A research task, with its result once it has one (interface section 4.5; public facts 6). 404 where there is none. */
  getResearchTask: getResearchTaskEndpoint,
  /** The research tasks of the team, a page at a time (public facts 6). */
  listResearchTasks: listResearchTasksEndpoint,
  /**
   * Creates a recurring search (interface section 4.6). Free; each of its runs is billed. `webhookSecret` is returned only here, as a
   * `Secret`.
   */
  createMonitor: createMonitorEndpoint,
  /** The monitors of the team by status, part of the name, and metadata, 1–100 a page (interface section 4.6). */
  listMonitors: listMonitorsEndpoint,
  /** One monitor (interface section 4.6). 404 where there is none. */
  getMonitor: getMonitorEndpoint,
  /** Changes a monitor: `search` may be partial, `trigger: null` removes its schedule (interface section 4.6). 404 where there is none. */
  updateMonitor: updateMonitorEndpoint,
  /** Deletes a monitor permanently and returns it (interface section 4.6). 404 where there is none. */
  deleteMonitor: deleteMonitorEndpoint,
  /** Deletes, pauses or unpauses all monitors that match; a dry run unless `dry_run: false` (interface section 4.6). */
  batchMonitors: batchMonitorsEndpoint,
  /** Runs a monitor now (interface section 4.6). The run is billed. 400 with the reason where it is `disabled`, 404 where there is none. */
  triggerMonitor: triggerMonitorEndpoint,
  /** The runs of a monitor, newest first, 1–100 a page (interface section 4.6). */
  listMonitorRuns: listMonitorRunsEndpoint,
  /** One run of a monitor, with its full output once it is completed (interface section 4.6). 404 where there is none. */
  getMonitorRun: getMonitorRunEndpoint,
  /**
   * Starts an asynchronous agent run (interface section 4.7). Paid by usage. Takes two units of the rate; 429
   * `CONCURRENCY_LIMIT_REACHED` while 50 are in progress.
   */
  createAgentRun: createAgentRunEndpoint,
  /** One agent run (interface section 4.7). Not counted against the rate. 404 where there is none. */
  getAgentRun: getAgentRunEndpoint,
  /** The agent runs of the team, newest first, 1–100 a page (interface section 4.7). Not counted against the rate. */
  listAgentRuns: listAgentRunsEndpoint,
  /** Deletes a stored run (interface section 4.7). 404 where there is none. */
  deleteAgentRun: deleteAgentRunEndpoint,
  /** Cancels a run: its output is lost, its usage so far billed. An ended run is returned unchanged (interface section 4.7). */
  cancelAgentRun: cancelAgentRunEndpoint,
  /** Ends a run early and keeps its output (public facts 8.3; `max` and `ultra` only, 400 otherwise). */
  stopAgentRun: stopAgentRunEndpoint,
  /** The stored events of a run, 1–100 a page (public facts 8.3). Not counted against the rate. */
  listAgentRunEvents: listAgentRunEventsEndpoint,
  /** The events of the team's websets by type and time, 1–200 a page (interface section 4.8). */
  listEvents: listEventsEndpoint,
  /** One event (public facts 10.1). 404 where there is none. */
  getEvent: getEventEndpoint,
  /** The websets of the team, 1–100 a page (public facts 10.1). */
  listWebsets: listWebsetsEndpoint,
  /** One webset by its id or `externalId`, as events refer to it (interface section 2.8; public facts 10.1). 404 where there is none. */
  getWebset: getWebsetEndpoint,
  /** The items of a webset, 1–100 a page, in no defined order (public facts 10.1). */
  listWebsetItems: listWebsetItemsEndpoint,
} as const;

/** The streamed forms, by the name of their function. Each rejects with `StreamDropped` where the stream breaks off before its end. */
export const streams = {
  /** A search whose synthesised output is streamed while it is written (interface section 4.1; public facts 2.5). Paid as `search`. */
  streamSearch: searchStream,
  /** An answer, streamed while it is written (interface section 4.3; public facts 4). Paid as `answer`. */
  streamAnswer: answerStream,
  /** Starts an agent run and follows its events to the terminal one (interface sections 4.7 and 6.2). Paid as `createAgentRun`. */
  streamAgentRun: agentRunStream,
  /** The stored events of a run after `lastEventId`; does not follow a run (public facts 8.3). */
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

/** The table by name, for code that iterates over it. */
export const operationTable: Readonly<Record<OperationName, AnyEndpoint>> = { ...operations };
