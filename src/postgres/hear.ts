import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { identifier } from './identifier.js';

const WAIT_MS = 250;

/** `LISTEN` over a connection that is made anew whenever it breaks, until the answer is called. */
export async function hear(
  connect: () => Client,
  channel: string,
  onMessage: (payload: string) => void,
  onBack: () => void,
): Promise<() => Promise<void>> {
  const ended = new AbortController();
  let current: Client | null = null;
  const loop = (async () => {
    while (!ended.signal.aborted) {
      const client = connect();
      const broken = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      try {
        await client.connect();
        current = client;
        client.on('notification', ({ payload }) => onMessage(payload ?? ''));
        await client.query(`LISTEN ${identifier(channel)}`);
        onBack();
        if (!ended.signal.aborted) await broken;
      } catch {
        // Away: whoever asks the database itself says so.
      }
      current = null;
      await client.end().catch(() => undefined);
      await delay(WAIT_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  return async () => {
    ended.abort();
    await current?.end().catch(() => undefined);
    await loop;
  };
}
