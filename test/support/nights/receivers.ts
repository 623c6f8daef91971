import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Alert } from '../../../src/core/alerts/alert.js';
import { verifyWebhook } from '../../../src/index.js';

export const secretOfNights = 'the-secret-of-the-nightly-alerts';

/** A webhook that arrived, and the status of its answer; null: it got none. `at`: by `performance.now()`. */
export interface Delivered {
  readonly alert: Alert;
  readonly at: number;
  status: number | null;
}

type Mode = 'accepts' | 'refuses' | 'silent' | 'slow' | 'kills';

/** A receiver of webhooks that checks signatures, and one that is a program. Both can be set to fail. */
export class Receivers {
  readonly delivered: Delivered[] = [];
  mode: Mode = 'accepts';
  /** Kills the sender of a webhook before it gets its answer, for the mode `kills`. */
  kill: () => void = () => undefined;
  readonly #files: { readonly mode: string; readonly log: string; readonly program: string };
  #port = 0;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => this.#take(Buffer.concat(chunks), request.headers['searchflow-signature'], response));
  });

  constructor(dir: string) {
    const file = (name: string) => join(dir, name);
    this.#files = { mode: file('program-mode'), log: file('program-log'), program: file('notify') };
    // `exec`: the kill of the program leaves no process behind.
    const lines = [
      '#!/bin/sh',
      `case "$(cat ${this.#files.mode})" in`,
      '  fails) echo "the mail server is down" >&2; exit 3;;',
      '  hangs) exec sleep 600;;',
      'esac',
      `{ cat; echo; } >> ${this.#files.log}`,
    ];
    writeFileSync(this.#files.program, `${lines.join('\n')}\n`);
    chmodSync(this.#files.program, 0o755);
    this.program = 'accepts';
  }

  set program(mode: 'accepts' | 'fails' | 'hangs') {
    writeFileSync(this.#files.mode, mode);
  }

  get settings() {
    return {
      SEARCHFLOW_ALERT_URL: `http://127.0.0.1:${this.#port}/hook`,
      SEARCHFLOW_ALERT_SECRET: secretOfNights,
      SEARCHFLOW_ALERT_COMMAND: this.#files.program,
      SEARCHFLOW_ALERT_ON: 'all',
    };
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The number of accepted deliveries of each alert by the webhook. */
  accepted(): Map<string, number> {
    return counts(this.delivered.filter(({ status }) => status === 200).map(({ alert }) => alert.id));
  }

  /** The number of runs of the program that accepted each alert. */
  noted(): Map<string, number> {
    const lines = existsSync(this.#files.log) ? readFileSync(this.#files.log, 'utf8').split('\n') : [];
    return counts(lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as Alert).id));
  }

  #take(body: Buffer, signature: string | string[] | undefined, response: ServerResponse): void {
    const delivered: Delivered = {
      alert: JSON.parse(body.toString('utf8')) as Alert,
      at: performance.now(),
      status: null,
    };
    this.delivered.push(delivered);
    const answer = (status: number): void => {
      response.on('finish', () => {
        delivered.status = status;
      });
      response.writeHead(status).end();
    };
    if (!isSigned(body, String(signature))) answer(401);
    else if (this.mode === 'refuses') answer(500);
    else if (this.mode === 'accepts') answer(200);
    else if (this.mode === 'kills') {
      // The receiver accepts the alert, but its sender does not know.
      this.kill();
      delivered.status = 200;
      response.end();
    } else if (this.mode === 'slow') setTimeout(answer, 3000, 200);
  }
}

function isSigned(body: Buffer, signature: string): boolean {
  try {
    // The clock of the worker may be nights ahead.
    verifyWebhook(body, signature, secretOfNights, { toleranceSeconds: Number.POSITIVE_INFINITY });
    return true;
  } catch {
    return false;
  }
}

function counts(ids: readonly string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const id of ids) sums.set(id, (sums.get(id) ?? 0) + 1);
  return sums;
}
