import type { Client, ClientBase } from 'pg';
import { PostgresSilent } from './problem.js';

/** After so much silence the server is asked, over another connection, whether it still works on the statement. */
const ASK_AFTER_MS = 4000;
/** How long that answer may take: both together are below the 10 s after which a person wants to know. */
const ANSWER_MS = 3000;
/** How often it is asked again. */
const ASK_EVERY_MS = 5000;
/** A statement that takes longer than this is told. */
const TELL_AFTER_MS = 8000;
/** After so much silence a statement that the server does not know of is lost; a slow line may still be sending it before. */
const LOST_MS = 60_000;
/** How long one value may take to be sent. */
const SENDING_MS = 600_000;
const TICK_MS = 500;

/** A connection that is in use. */
export interface Watched {
  /** Changes how long the server may be silent during one statement, in ms. */
  within(limitMs: number): void;
  end(): void;
}

interface Use {
  readonly client: ClientBase;
  limitMs: number;
  silentMs: number;
  askAtMs: number;
  /** Bytes that had come and gone when it was last looked at. */
  moved: number;
}

interface Activity {
  readonly pid: number;
  readonly state: string | null;
  readonly waits_for: string | null;
}

/**
 * Ends connections whose server accepts and falls silent: such a connection never breaks by itself. Any byte either way is a sign of
 * life. A long statement has none, so the server is asked for it, over a connection of its own.
 */
export class SilenceWatch {
  readonly #connect: () => Client;
  readonly #tell: (reason: string) => void;
  readonly #uses = new Set<Use>();
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #asking = false;
  #reported = false;

  /** `connect` makes a client that is not connected yet; `tell` is given why a statement takes long. */
  constructor(connect: () => Client, tell: (reason: string) => void) {
    this.#connect = connect;
    this.#tell = tell;
  }

  watch(client: ClientBase, limitMs: number): Watched {
    const use: Use = { client, limitMs, silentMs: 0, askAtMs: ASK_AFTER_MS, moved: movedBy(client) };
    this.#uses.add(use);
    if (this.#timer === undefined) {
      this.#lookedAt = performance.now();
      this.#timer = setInterval(() => this.#check(), TICK_MS).unref();
    }
    return {
      within(longestMs) {
        use.limitMs = longestMs;
      },
      end: () => {
        this.#uses.delete(use);
        if (this.#uses.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  #check(): void {
    const now = performance.now();
    // A process that was stopped itself heard nothing either.
    const passed = Math.min(now - this.#lookedAt, 2 * TICK_MS);
    this.#lookedAt = now;
    for (const use of this.#uses) {
      const moved = movedBy(use.client);
      if (!isPending(use.client) || moved !== use.moved) {
        Object.assign(use, { moved, silentMs: 0, askAtMs: ASK_AFTER_MS });
        continue;
      }
      use.silentMs += passed;
      const limitMs = isSending(use.client) ? Math.max(use.limitMs, SENDING_MS) : use.limitMs;
      if (use.silentMs >= limitMs) silence(use);
    }
    const due = [...this.#uses].some((use) => use.silentMs >= use.askAtMs);
    if (due && !this.#asking) {
      this.#asking = true;
      void this.#ask().finally(() => {
        this.#asking = false;
      });
    }
  }

  /** Asks the server what it does for the connections that are silent, and ends those that it does nothing for. */
  async #ask(): Promise<void> {
    const silent = [...this.#uses].filter((use) => use.silentMs >= ASK_AFTER_MS);
    for (const use of silent) use.askAtMs = use.silentMs + ASK_EVERY_MS;
    const pids = silent.map(({ client }) => (client as Client & { readonly processID: number }).processID);
    const activities = await this.#activities(pids);
    const long: string[] = [];
    for (const [index, use] of silent.entries()) {
      if (!this.#uses.has(use) || use.silentMs < ASK_AFTER_MS) continue;
      if (activities === null) silence(use);
      // A pooler gives a connection another number than the server knows it by: then it may take as long as its limit says.
      const activity = activities?.find(({ pid }) => pid === pids[index]);
      const isLost = activity?.state && activity.state !== 'active' && !isSending(use.client);
      if (isLost && use.silentMs >= LOST_MS) silence(use);
      if (use.silentMs >= TELL_AFTER_MS)
        long.push(
          activity?.waits_for === 'Lock'
            ? 'a transaction of another session holds a lock'
            : `a statement has taken ${Math.round(use.silentMs / 1000)} s`,
        );
    }
    if (activities !== null && long[0] !== undefined && !this.#reported) this.#tell(long[0]);
    this.#reported = long.length > 0;
  }

  /** What the server does for these connections; null where it does not say. One that refuses to say is there. */
  async #activities(pids: readonly number[]): Promise<readonly Activity[] | null> {
    const client = this.#connect();
    client.on('error', () => undefined);
    const late = setTimeout(() => sever(client, new PostgresSilent(ANSWER_MS)), ANSWER_MS);
    try {
      await client.connect();
      const { rows } = await client.query<Activity>(
        'SELECT pid, state, wait_event_type AS waits_for FROM pg_stat_activity WHERE pid = ANY ($1::integer[])',
        [pids],
      );
      return rows;
    } catch (error) {
      // An answer in words, such as one of too many connections, is an answer.
      return /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code)) ? [] : null;
    } finally {
      clearTimeout(late);
      sever(client);
    }
  }
}

/** Ends a connection at once, whatever it does: what it is asked fails with `why`. */
export function sever(client: ClientBase, why?: Error): void {
  streamOf(client).destroy(why);
}

function silence({ client, silentMs }: Use): void {
  sever(client, new PostgresSilent(silentMs));
}

interface Stream {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly writableLength: number;
  destroy(error?: Error): void;
}

function streamOf(client: ClientBase): Stream {
  return (client as ClientBase & { readonly connection: { readonly stream: Stream } }).connection.stream;
}

/** Bytes that came, and those that went to the system. */
function movedBy(client: ClientBase): number {
  const { bytesRead, bytesWritten, writableLength } = streamOf(client);
  return bytesRead + bytesWritten - writableLength;
}

/** Whether a statement, or COPY, is not answered yet. */
function isPending(client: ClientBase): boolean {
  return (client as ClientBase & { readonly readyForQuery: boolean }).readyForQuery === false;
}

/** Whether bytes of ours still wait for the line. */
function isSending(client: ClientBase): boolean {
  return streamOf(client).writableLength > 0;
}
