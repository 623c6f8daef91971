import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { idsOf } from './base/sentences.js';
import { Timers } from './base/state-options.js';
import { CONTROL_PATH, createControl, type Panel, triggerSchema } from './control.js';
import { Ledger } from './ledger/ledger.js';
import type { Fact } from './ledger/log-file.js';
import { LogFile } from './ledger/log-file.js';
import { PurchaseLog } from './ledger/purchase-log.js';
import { openState } from './open-state.js';
import { Crawler } from './pages/result.js';
import { createExchange } from './server/exchange.js';
import { FaultScript, faultsSchema } from './server/fault.js';
import { parseOptions, rateOf, type SandboxOptions } from './server/options.js';
import { RateGate } from './server/rate-gate.js';
import { RequestLog } from './server/request-log.js';

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
