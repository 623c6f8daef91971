import { connect } from 'node:net';
import { Agent, request } from 'undici';
import type { Sandbox } from '../../../src/sandbox/index.js';

/** Each request has a connection of its own and is not retried, so the result shows the behaviour of the sandbox alone. */
const agent = new Agent({ pipelining: 0, connections: null });

export interface Seen {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes.
  readonly json: any;
}

/** Posts JSON with a key and reads the whole answer. Rejects if the connection breaks. */
export async function post(
  sandbox: Pick<Sandbox, 'url'>,
  path: string,
  body: unknown,
  headers: Record<string, string> = { 'x-api-key': 'test-key' },
): Promise<Seen> {
  const response = await request(sandbox.url + path, {
    method: 'POST',
    dispatcher: agent,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, json: parse(text) };
}

export async function get(
  sandbox: Pick<Sandbox, 'url'>,
  path: string,
  headers: Record<string, string> = {},
): Promise<Seen> {
  return send(sandbox, 'GET', path, undefined, headers);
}

/** Sends a request with a key; it has a body only if one is given. */
export async function send(
  sandbox: Pick<Sandbox, 'url'>,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Seen> {
  const response = await request(sandbox.url + path, {
    method,
    dispatcher: agent,
    headers: { 'x-api-key': 'test-key', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, text, json: parse(text) };
}

/** Sends one request over a bare socket. Returns the received pieces of bytes, and how the connection ended. */
export function raw(
  sandbox: Sandbox,
  path: string,
  body: unknown,
): Promise<{ pieces: string[]; ended: 'end' | 'reset' }> {
  const json = JSON.stringify(body);
  return new Promise((resolve) => {
    const pieces: string[] = [];
    const socket = connect(sandbox.port, '127.0.0.1', () => {
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: sandbox\r\nx-api-key: k\r\nconnection: close\r\n` +
          `content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
      );
    });
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => pieces.push(piece));
    socket.on('end', () => resolve({ pieces, ended: 'end' }));
    socket.on('error', () => resolve({ pieces, ended: 'reset' }));
  });
}

/** `https://site.example/1`, … */
export function urls(count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, index) => `https://site.example/${from + index}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
