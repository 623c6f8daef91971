import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentRuns } from './agents/agent-runs.js';
import { ResearchTasks } from './agents/research-tasks.js';
import { idsOf } from './base/sentences.js';
import { Timers } from './base/state-options.js';
import { CONTROL_PATH, createControl, type Panel, type SandboxState, type Trigger, triggerSchema } from './control.js';
import { Ledger } from './ledger/ledger.js';
import { type Fact, LogFile, type WriteFact } from './ledger/log-file.js';
import { PurchaseLog } from './ledger/purchase-log.js';
import { Monitors } from './monitors/monitors.js';
import { Webhooks } from './monitors/webhooks.js';
import { Crawler, type PageSettings } from './pages/result.js';
import { createExchange } from './server/exchange.js';
import { FaultScript, faultsSchema } from './server/fault.js';
import { parseOptions, rateOf, type SandboxOptions, type Settings } from './server/options.js';
import { RateGate } from './server/rate-gate.js';
import { RequestLog } from './server/request-log.js';
import { EventHistory } from './websets/event-history.js';
import { idOf } from './websets/story.js';

/** A stand-in for the service, running in this process. */
export interface Sandbox extends Panel {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Closes open connections and stops. Work that was not recorded before the close is not done. */
  close(): Promise<void>;
}

/**
 * Starts a stand-in for the service on 127.0.0.1. Rejects if options are wrong (with all mistakes), if the port is taken, or if
 * the log file cannot be used.
 */
export async function startSandbox(input: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const options = parseOptions(input);
  const purchases = new PurchaseLog();
  const ledger = new Ledger(purchases, options.credits);
  const facts: Fact[] = [];
  const reader = { ...ledger.reader, fact: (fact: Fact) => void facts.push(fact) };
  const file = options.ledgerFile === null ? null : await LogFile.open(options.ledgerFile, reader);
  if (file) ledger.keepIn(file);

  const began = performance.now();
  const now = () => performance.now() - began;
  const log = new RequestLog(options.logEntries, now);
  const gate = new RateGate(rateOf(options));
  const script = new FaultScript();
  script.set(options.faults, now());
  const crawler = new Crawler(options);
  const timers = new Timers();
  const pages = { seed: options.seed, textBytes: options.textBytes };
  const starts = file?.starts ?? 0;
  const state = openState({ options, pages, ledger, timers, write: (fact) => file?.fact(fact), starts }, facts);
  let url = '';

  const exchange = createExchange({
    options,
    log,
    gate,
    now,
    script,
    ledger,
    timers,
    context: {
      ...state,
      usage: ledger.usage,
      pages,
      crawler,
      timers,
    },
    advance: state.advance,
    baseUrl: () => url,
    nextRequestId: idsOf(options.seed, starts),
  });
  const panel: Panel = {
    bill: ({ keys = true } = {}) => {
      state.advance();
      return purchases.bill(keys);
    },
    log: (from) => log.since(from),
    stats: () => {
      state.advance();
      const { dollars } = purchases.bill(false);
      const { count: requests, limited } = log;
      return { requests, byStatus: log.byStatus(), limited, dollars, maxInSlidingSecond: gate.max };
    },
    state: state.view,
    trigger: (what) => state.trigger(triggerSchema.parse(what)),
    reset: () => {
      ledger.reset();
      state.reset();
      log.reset();
      gate.reset();
      crawler.reset();
      script.rewind(now());
    },
    setFaults: (faults) => script.set(faultsSchema.parse(faults), now()),
    setCredits: (dollars) => ledger.setCredits(dollars),
  };
  const control = createControl(panel);
  const server = createServer((request, response) => {
    const isControl = request.url?.startsWith(`${CONTROL_PATH}/`);
    void (isControl ? control(request, response) : exchange(request, response));
  });
  // The timeout is longer than the idle times of clients. So the client closes first, and no request reaches a connection that
  // is being closed.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options.port).catch((error: unknown) => {
    ledger.close();
    throw error;
  });
  void state.monitors.keepTime();
  url = `http://127.0.0.1:${port}`;
  let closing: Promise<void> | null = null;
  return { ...panel, url, port, close: () => (closing ??= close(server, timers).then(() => ledger.close())) };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

async function close(server: Server, timers: Timers): Promise<void> {
  timers.stop();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface StateParts {
  readonly options: Settings;
  readonly pages: PageSettings;
  readonly ledger: Ledger;
  readonly timers: Timers;
  readonly write: WriteFact;
  /** Number of earlier openings of the purchase log file. */
  readonly starts: number;
}

/** All state of the sandbox except credits, purchases and requests. */
interface State {
  readonly agentRuns: AgentRuns;
  readonly research: ResearchTasks;
  readonly monitors: Monitors;
  readonly history: EventHistory;
  /** Does all due work: ends of runs, charges, schedules. */
  advance(): void;
  view(): SandboxState;
  trigger(what: Trigger): readonly string[];
  reset(): void;
}

/** Opens the stores and restores the `facts` of an earlier process. Throws if a fact cannot be read. */
function openState(parts: StateParts, facts: readonly Fact[]): State {
  const { options, pages, ledger, timers, write, starts } = parts;
  const { seed } = options;
  const now = () => Date.now();
  const ids = (kind: string) => idsOf(seed, starts, kind);
  const shared = { seed, ledger, write, now };
  const agentRuns = new AgentRuns({ ...shared, options: options.agentRuns, nextId: ids('agent') });
  const research = new ResearchTasks({ ...shared, options: options.research, nextId: ids('research') });
  const webhooks = new Webhooks(options.monitors, timers, ids('webhook'));
  const monitorParts = { ...shared, options: options.monitors, clock: options.monitorClock, pages, timers, webhooks };
  const monitors = new Monitors({ ...monitorParts, nextId: ids('monitor') });
  const history = new EventHistory({ options: options.events, seed, write, now });
  const stores = [agentRuns, research, monitors, history];
  for (const fact of facts) {
    if (!stores.some((store) => store.restore(fact))) throw new Error(`the state has an unknown entry: ${fact.kind}`);
  }
  // The first use sets the times of the history. The times must count from the first start, not from the first request.
  void history.timeline;
  const advance = () => {
    agentRuns.advance();
    research.advance();
    monitors.advance();
  };
  return {
    agentRuns,
    research,
    monitors,
    history,
    advance,
    view: () => {
      advance();
      const counts = monitors.counts();
      return {
        agentRuns: {
          inProgress: agentRuns.inProgress,
          maxInProgress: agentRuns.maxInProgress,
          byStatus: agentRuns.statuses(),
        },
        research: { count: research.count, inProgress: research.inProgress, maxInProgress: research.maxInProgress },
        monitors: { byStatus: counts.monitors, runsByStatus: counts.runs },
        webhooks: { ...webhooks.counts, attempts: [...webhooks.deliveries] },
        events: { count: history.length + history.triggered.length, triggered: history.triggered.length },
      };
    },
    trigger: (what) => {
      if ('monitorRun' in what) return [monitors.trigger(what.monitorRun).id];
      if ('disableMonitor' in what) {
        return [monitors.update(what.disableMonitor, (monitor) => ({ ...monitor, status: 'disabled' })).id];
      }
      return Array.from({ length: what.count ?? 1 }, () => idOf('event', seed, history.trigger(what.event)));
    },
    reset: () => {
      for (const store of stores) store.reset();
      webhooks.reset();
      void history.timeline;
    },
  };
}
