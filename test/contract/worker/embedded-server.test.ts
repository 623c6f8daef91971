import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { serverUsers } from '../../support/worker/server-users.js';

const users = serverUsers();

/** The TCP ports on which a process listens (Linux). */
function listeningPorts(pid: number): readonly number[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? ''];
      } catch {
        return [];
      }
    }),
  );
  const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n').slice(1));
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === '0A' && own.has(inode))
    .map(([, local = '']) => Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16));
}

const start = JSON.stringify({ workflowType: { name: 'enrichRows' }, taskQueue: { name: 'searchflow' } });

/** The status and text of an answer; the status is 0 if the port does not speak HTTP/1. */
const call = (port: number, host: string, method: string, path: string) =>
  new Promise<{ readonly status: number; readonly text: string }>((resolve) => {
    const headers = { host, origin: 'https://page.example', 'content-type': 'text/plain' };
    const sent = request({ host: '127.0.0.1', port, method, path, headers, timeout: 5000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('close', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', () => resolve({ status: 0, text: '' }));
    sent.on('timeout', () => sent.destroy());
    sent.end(method === 'POST' ? start : undefined);
  });

it.skipIf(process.platform !== 'linux')('no port of the embedded server obeys a web page, under any Host', async () => {
  const { pid, address } = await users.here(60_000);
  const ports = listeningPorts(pid);
  expect(ports).toContain(Number(address.split(':')[1]));
  const answers = await Promise.all(
    ports.flatMap((port) =>
      [`127.0.0.1:${port}`, `localhost:${port}`, 'page.example', ''].flatMap((host) => [
        call(port, host, 'GET', '/api/v1/namespaces'),
        call(port, host, 'GET', '/namespaces'),
        call(port, host, 'GET', '/api/v1/namespaces/default/workflows'),
        call(port, host, 'POST', `/api/v1/namespaces/default/workflows/from-a-page`),
        call(port, host, 'POST', '/nexus/namespaces/default/task-queues/searchflow/nexus-services/s/o'),
      ]),
    ),
  );
  expect(answers.filter(({ status }) => status >= 200 && status < 300)).toEqual([]);
  // The HTTP API is there, and refuses.
  expect(answers.some(({ status, text }) => status === 403 && text.includes('Host not allowed'))).toBe(true);
});
