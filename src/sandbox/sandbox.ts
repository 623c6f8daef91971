import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BookFile } from './book-file.js';
import { CONTROL_PATH, createControl } from './control.js';
import { Crawler } from './crawl.js';
import { createExchange } from './exchange.js';
import { faultsSchema } from './fault.js';
import { FaultScript } from './fault-script.js';
import { hashText, mix } from './hash.js';
import { parseOptions, type SandboxOptions } from './options.js';
import type { Panel } from './panel.js';
import { PrebuiltPages } from './prebuilt.js';
import { PurchaseBook } from './purchase-book.js';
import { RateWindow } from './rate-window.js';
import { RequestLog } from './request-log.js';
import { Till } from './till.js';
import { Timers } from './timers.js';

/** A stand-in for the service, running in this process. */
export interface Sandbox extends Panel {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Cuts what is open and stops. Work not booked by then is not done. */
  close(): Promise<void>;
}

/** Starts a stand-in for the service on 127.0.0.1. Rejects naming every wrong option, or with the error of the port or the book file. */
export async function startSandbox(given: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const options = parseOptions(given);
  const book = new PurchaseBook();
  const till = new Till(book, options.credits);
  const file = options.bookFile === null ? null : await BookFile.open(options.bookFile, till.reader);
  if (file) till.keepIn(file);

  const began = performance.now();
  const now = () => performance.now() - began;
  const log = new RequestLog(options.logEntries, now);
  const window = new RateWindow(options.qps);
  const script = new FaultScript();
  script.set(options.faults, now());
  const crawler = new Crawler(options);
  const timers = new Timers();
  const pages = { seed: options.seed, textBytes: options.textBytes };
  let url = '';

  const exchange = createExchange({
    options,
    log,
    window,
    script,
    till,
    timers,
    desk: { pages, crawler, prebuilt: options.prebuilt ? new PrebuiltPages(pages) : null },
    baseUrl: () => url,
    nextRequestId: requestIds(options.seed, file?.starts ?? 0),
  });
  const panel: Panel = {
    bill: ({ keys = true } = {}) => book.bill(keys),
    log: (from) => log.since(from),
    stats: () => ({
      requests: log.count,
      byStatus: log.byStatus(),
      limited: log.limited,
      dollars: book.bill(false).dollars,
      maxInSlidingSecond: window.max,
    }),
    reset: () => {
      till.reset();
      log.reset();
      window.reset();
      crawler.reset();
      script.rewind(now());
    },
    setFaults: (faults) => script.set(faultsSchema.parse(faults), now()),
    setCredits: (dollars) => till.setCredits(dollars),
  };
  const control = createControl(panel);
  const server = createServer((request, response) => {
    const isControl = request.url?.startsWith(`${CONTROL_PATH}/`);
    void (isControl ? control(request, response) : exchange(request, response));
  });
  // Above the clients' own idle times, so that the client is the one who closes and no request meets a closing connection.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options.port).catch((error: unknown) => {
    till.close();
    throw error;
  });
  url = `http://127.0.0.1:${port}`;
  let closing: Promise<void> | null = null;
  return { ...panel, url, port, close: () => (closing ??= close(server, timers).then(() => till.close())) };
}

/** Ids that look random and follow from seed, start and order; starts are counted by the book file. */
function requestIds(seed: number, starts: number): () => string {
  const base = hashText(`start ${starts}`, seed);
  let serial = 0;
  return () => {
    serial += 1;
    return (
      [1, 2, 3].map((salt) => mix(mix(base, salt), serial).toString(16).padStart(8, '0')).join('') +
      serial.toString(16).padStart(8, '0')
    );
  };
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
