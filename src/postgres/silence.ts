import { connect } from 'node:net';
import type { Client, ClientBase } from 'pg';
import { codeOfSqlState } from '../core/errors/code-of.js';
import type { ErrorCode } from '../core/errors/registry.js';

/** Time in ms without an answer, after which the server is asked over another connection whether the statement still runs. */
const ASK_AFTER_MS = 4000;
/**
 * Longest wait for the server's answer over the other connection, in ms. {@link ASK_AFTER_MS} and this wait together stay below the 10 s
 * after which a wait must be reported.
 */
const ANSWER_MS = 3000;
/** Interval at which the server is asked again. */
const ASK_EVERY_MS = 5000;
/** Duration in ms after which a statement is reported as long. */
const REPORT_AFTER_MS = 8000;
/**
 * Silence after which a statement that the server does not run counts as lost. Before that, the statement may still be on its way over a
 * slow line.
 */
const LOST_MS = 60_000;
const SENDING_MS = 600_000;
const TICK_MS = 500;

export interface Watched {
  /** Changes the longest silence of the server during one statement, in ms. */
  within(limitMs: number): void;
  end(): void;
}

interface Use {
  readonly client: ClientBase;
  limitMs: number;
  silentMs: number;
  askAtMs: number;
  /** Bytes received and sent at the last check. */
  moved: number;
}

interface Activity {
  readonly pid: number;
  readonly state: string | null;
  readonly waits_for: string | null;
}

/**
 * Closes connections whose server has fallen silent, because these connections never break by themselves. Any byte in either direction is a
 * sign of life. A long statement sends no bytes, so the server is asked over another connection whether the statement still runs.
 */
export class SilenceWatch {
  readonly #connect: () => Client;
  readonly #report: (reason: string) => void;
  readonly #uses = new Set<Use>();
  #timer: NodeJS.Timeout | undefined;
  #checkedAt = 0;
  #asking = false;
  #reported = false;

  /** `connect` makes a client that is not connected yet; `report` is called with the reason why a statement takes long. */
  constructor(connect: () => Client, report: (reason: string) => void) {
    this.#connect = connect;
    this.#report = report;
  }

  watch(client: ClientBase, limitMs: number): Watched {
    const use: Use = { client, limitMs, silentMs: 0, askAtMs: ASK_AFTER_MS, moved: movedBy(client) };
    this.#uses.add(use);
    if (this.#timer === undefined) {
      this.#checkedAt = performance.now();
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

  /** Whether the server answers within this time over a new connection. */
  async answers(withinMs: number): Promise<boolean> {
    return (await this.#activities([], withinMs)) !== null;
  }

  #check(): void {
    const now = performance.now();
    // Time in which this process itself was suspended does not count as silence.
    const passed = Math.min(now - this.#checkedAt, 2 * TICK_MS);
    this.#checkedAt = now;
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

  /**
   * Asks the server for the statements of the silent connections. Closes these connections if the server does not answer. If it answers,
   * closes only connections whose statement counts as lost.
   */
  async #ask(): Promise<void> {
    const silent = [...this.#uses].filter((use) => use.silentMs >= ASK_AFTER_MS);
    for (const use of silent) use.askAtMs = use.silentMs + ASK_EVERY_MS;
    const pids = silent.map(({ client }) => (client as Client & { readonly processID: number }).processID);
    const activities = await this.#activities(pids);
    const long: string[] = [];
    for (const [index, use] of silent.entries()) {
      if (!this.#uses.has(use) || use.silentMs < ASK_AFTER_MS) continue;
      if (activities === null) silence(use);
      // Behind a pooler the server knows a connection by another PID, so no activity is found. Then only the limit of the statement counts.
      const activity = activities?.find(({ pid }) => pid === pids[index]);
      const isLost = activity?.state && activity.state !== 'active' && !isSending(use.client);
      if (isLost && use.silentMs >= LOST_MS) silence(use);
      if (use.silentMs >= REPORT_AFTER_MS)
        long.push(
          activity?.waits_for === 'Lock'
            ? 'a transaction of another session holds a lock'
            : `a statement has taken ${Math.round(use.silentMs / 1000)} s`,
        );
    }
    if (activities !== null && long[0] !== undefined && !this.#reported) this.#report(long[0]);
    this.#reported = long.length > 0;
  }

  /**
   * Returns the statements that the server runs for these connections; null if the server does not answer. An error of the server counts as
   * an answer.
   */
  async #activities(pids: readonly number[], withinMs = ANSWER_MS): Promise<readonly Activity[] | null> {
    const client = this.#connect();
    client.on('error', () => undefined);
    const late = setTimeout(() => sever(client, new PostgresSilent(withinMs)), withinMs);
    try {
      await client.connect();
      const { rows } = await client.query<Activity>(
        'SELECT pid, state, wait_event_type AS waits_for FROM pg_stat_activity WHERE pid = ANY ($1::integer[])',
        [pids],
      );
      return rows;
    } catch (error) {
      // An error with a SQLSTATE, such as "too many connections", comes from a server that works.
      return /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code)) ? [] : null;
    } finally {
      clearTimeout(late);
      sever(client);
    }
  }
}

/** Closes a connection at once; its pending statements fail with `why`. */
export function sever(client: ClientBase, why?: Error): void {
  streamOf(client).destroy(why);
}

/** Longest time to send a cancel, in ms. */
const CANCEL_MS = 1000;
/** Number of a request that cancels a statement, in the place of a version of the protocol. */
const CANCEL_REQUEST = 80877102;

/**
 * Asks the server to end the running statement of a connection: a server notices a closed connection only when it sends. The request has the
 * secret of the connection, and is sent in plain text, as libpq does. Resolves when the server has received it, or cannot be reached.
 */
export async function cancelStatement(client: ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as Client & { processID: number | null; secretKey: number };
  if (!isPending(client) || processID === null) return;
  const request = Buffer.alloc(16);
  for (const [index, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries())
    request.writeInt32BE(value, index * 4);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  const late = setTimeout(() => socket.destroy(), CANCEL_MS);
  await new Promise<void>((resolve) => {
    socket.once('error', () => undefined).once('close', () => resolve());
    // The server closes the connection once the request is handled.
    socket.resume().end(request);
  });
  clearTimeout(late);
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

/** Number of bytes that were received or handed to the system. */
function movedBy(client: ClientBase): number {
  const { bytesRead, bytesWritten, writableLength } = streamOf(client);
  return bytesRead + bytesWritten - writableLength;
}

/** Whether a statement or COPY has no answer yet. */
function isPending(client: ClientBase): boolean {
  return (client as ClientBase & { readonly readyForQuery: boolean }).readyForQuery === false;
}

/** Whether bytes are still waiting to be sent. */
function isSending(client: ClientBase): boolean {
  return streamOf(client).writableLength > 0;
}

/** The database cannot be reached now; retry later. */
export class PostgresAway extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'PostgresAway';
}

/** The server accepted a connection and then did not answer. */
export class PostgresSilent extends Error {
  readonly errorCode = 'postgres-unreachable' satisfies ErrorCode;
  override readonly name = 'PostgresSilent';
  constructor(silentMs: number) {
    super(`no answer for ${Math.round(silentMs / 1000)} s`);
  }
}

/** The database refuses until a person changes something, such as a password, a permission or a missing name. */
export class PostgresRefused extends Error {
  readonly errorCode: ErrorCode;
  override readonly name = 'PostgresRefused';
  constructor(
    message: string,
    /** SQLSTATE, if the server sent one. */
    readonly code: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.errorCode = codeOfSqlState(code);
  }
}

/** How to handle a failure: `away` retry later, `again` retry the transaction now, `refused` and `other` do not retry. */
type Problem = 'away' | 'again' | 'refused' | 'other';

const lost = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** Messages of the driver about a broken connection; these errors have no code. */
const lostSaid =
  /connection terminated|connection ended|client has encountered a connection error|timeout (exceeded|expired)/i;

/** Error codes of a server without TLS, or of a certificate that cannot be verified. */
const untrusted = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const untrustedSaid = /does not support SSL/i;

/** Classifies a failure of the driver or the server by how to handle it. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof Error)) return 'other';
  const code = (error as { code?: unknown }).code;
  if (error instanceof PostgresSilent) return 'away';
  if (poolerProblem(error.message) !== null) return 'refused';
  if (error instanceof AggregateError && error.errors.length > 0) return problemOf(error.errors[0]);
  if (typeof code !== 'string') {
    if (untrustedSaid.test(error.message)) return 'refused';
    return lostSaid.test(error.message) ? 'away' : 'other';
  }
  if (untrusted.test(code)) return 'refused';
  if (lost.has(code)) return 'away';
  // The server is shutting down, is starting up, has too many connections, or is read-only after a failover: classes 08, 53, 57P.
  if (/^(08|53[034]|57P)/.test(code) || code === '25006') return 'away';
  // The server ended an idle transaction: this process was suspended or disconnected.
  if (code === '25P03' || code === '25P04') return 'away';
  // These codes mean a serialization failure, a deadlock, a lock timeout, or a statement that a timeout or a person cancelled.
  if (code === '40001' || code === '40P01' || code === '55P03' || code === '57014') return 'again';
  if (/^28/.test(code) || code === '3D000' || code === '42501') return 'refused';
  return 'other';
}

/** Returns how to change the configuration of the pooler that sent this message; null for other messages. */
export function poolerProblem(message: string): string | null {
  if (/statement pooling mode/i.test(message)) return "set the pooler's pool_mode to session or transaction";
  if (/unsupported startup parameter/i.test(message))
    return "remove that parameter from the address, or add it to the pooler's ignore_startup_parameters";
  return null;
}
