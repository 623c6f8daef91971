import {
  type EventWarehouse,
  type LoadedPages,
  MisshapenPage,
  type RawPage,
  type StreamKey,
  sizeOfPages,
  type WindowPages,
} from '../../core/events/event-warehouse.js';
import type { WalkState } from '../../core/events/walk.js';
import { BodyMemory } from '../../core/purchase/body-memory.js';

/** Bytes of pages that are gathered for one load. Fewer, larger loads are faster, because each load has a fixed cost. */
const ENOUGH = 8 * 1_048_576;
/** Bytes of pages that are gathered for the first load. The number is small, so that the first load begins early. */
const ENOUGH_AT_FIRST = 2 * 1_048_576;
/** Bytes above which callers wait until a load has ended. */
const FULL = 11 * 1_048_576;
/** The longest time in ms that pages are gathered while no load runs. */
const LINGER_MS = 1_000;

/** One window of a walk while its pages are loaded. All windows that load into one warehouse share loads. */
export interface LoadingWindow {
  /** Memory for the pages of the window. The loader reuses the memory of a page after the page is loaded. */
  readonly memory: BodyMemory;
  /** Adds a page and the state of the walk after that page. Waits while too many bytes are pending. */
  put(page: RawPage, walk: WalkState): Promise<void>;
  soFar(): LoadedPages;
  /** Waits until all pages of the window are durable, and returns the counts of these pages. Rejects with the error of a failed load. */
  landed(): Promise<LoadedPages>;
  /** Ends the window's part in the loads. Pages of the window that have not been loaded are dropped. */
  leave(): void;
}

interface Pending {
  readonly key: StreamKey & { readonly window: number; readonly attempt: string };
  pages: RawPage[];
  walk: WalkState | null;
  /** Number of pages that were put and are not durable yet. */
  onTheWay: number;
  sum: LoadedPages;
  error: unknown;
  waiting: (() => void)[];
}

/**
 * Loads the pages of many windows into one warehouse, in shared transactions. While one load runs, pages for the next are gathered. A page
 * whose records are not events fails only its own window.
 */
export class WalkLoader {
  readonly #send: EventWarehouse['load'];
  readonly #windows = new Set<Pending>();
  readonly #memory = new BodyMemory();
  #bytes = 0;
  #loading = false;
  #enough = ENOUGH_AT_FIRST;
  #timer: NodeJS.Timeout | null = null;
  #room: (() => void)[] = [];

  /** `load`: see `EventWarehouse.load`. */
  constructor(load: EventWarehouse['load']) {
    this.#send = load;
  }

  join(key: StreamKey, window: number, attempt: string): LoadingWindow {
    const own: Pending = {
      key: { origin: key.origin, stream: key.stream, window, attempt },
      pages: [],
      walk: null,
      onTheWay: 0,
      sum: { events: 0, added: 0, changed: 0, current: true },
      error: null,
      waiting: [],
    };
    this.#windows.add(own);
    return {
      memory: this.#memory,
      put: async (page, walk) => {
        while (this.#bytes >= FULL && !own.error) await new Promise<void>((resolve) => this.#room.push(resolve));
        if (own.error) throw own.error;
        own.pages.push(page);
        own.walk = walk;
        own.onTheWay++;
        this.#bytes += page.events.length;
        this.#consider();
      },
      soFar: () => own.sum,
      landed: async () => {
        while (own.onTheWay > 0 && !own.error) {
          const landed = new Promise<void>((resolve) => own.waiting.push(resolve));
          this.#consider();
          await landed;
        }
        if (own.error) throw own.error;
        return own.sum;
      },
      leave: () => {
        this.#windows.delete(own);
        this.#letGoIfAlone();
        this.#bytes -= sizeOfPages(own.pages);
        this.#makeRoom();
        this.#consider();
      },
    };
  }

  #letGoIfAlone(): void {
    if (this.#windows.size === 0) this.#memory.clear();
  }

  #makeRoom(): void {
    for (const wake of this.#room.splice(0)) wake();
  }

  /** Starts a load if enough pages are gathered or all windows wait for a load. Otherwise a timer starts the load. */
  #consider(): void {
    if (this.#loading || this.#bytes === 0) return;
    const allWait = [...this.#windows].every((one) => one.waiting.length > 0);
    if (this.#bytes >= this.#enough || allWait) void this.#load();
    else this.#timer ??= setTimeout(() => void this.#load(), LINGER_MS);
  }

  async #load(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const taken = [...this.#windows].filter((one) => one.pages.length > 0);
    if (this.#loading || taken.length === 0) return;
    this.#loading = true;
    this.#enough = ENOUGH;
    const batch = taken.map((one): WindowPages => {
      const { pages, walk, key } = one;
      one.pages = [];
      return { ...key, pages, walk: walk as WalkState };
    });
    this.#bytes -= batch.reduce((sum, { pages }) => sum + sizeOfPages(pages), 0);
    this.#makeRoom();
    try {
      await this.#loadAll(taken, batch);
    } finally {
      this.#loading = false;
      for (const { pages } of batch) for (const { events } of pages) this.#memory.giveBack(events);
      this.#letGoIfAlone();
      for (const one of taken) for (const wake of one.waiting.splice(0)) wake();
      this.#consider();
    }
  }

  async #loadAll(taken: readonly Pending[], batch: readonly WindowPages[]): Promise<void> {
    try {
      const loaded = await this.#send(batch);
      for (const [index, one] of taken.entries()) add(one, batch[index] as WindowPages, loaded[index] as LoadedPages);
    } catch (error) {
      if (!(error instanceof MisshapenPage) || taken.length === 1) {
        for (const one of taken) one.error ??= error;
        return;
      }
      for (const [index, one] of taken.entries()) await this.#loadAll([one], [batch[index] as WindowPages]);
    }
  }
}

function add(one: Pending, { pages }: WindowPages, loaded: LoadedPages): void {
  one.onTheWay -= pages.length;
  const { events, added, changed, current } = one.sum;
  one.sum = {
    events: events + loaded.events,
    added: added + loaded.added,
    changed: changed + loaded.changed,
    current: current && loaded.current,
  };
}
