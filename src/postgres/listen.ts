import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { identifier } from './identifier.js';
import { type SilenceWatch, sever } from './silence.js';

const WAIT_MS = 250;
/** Interval of the pings that show whether the idle connection still works. */
const PING_MS = 15_000;
/** Longest wait for the answer to a ping. */
const ANSWER_MS = 5000;

/** Runs `LISTEN` over a connection that is reopened whenever it breaks. Returns a function that stops listening. */
export async function listen(
  connect: () => Client,
  watch: SilenceWatch,
  channel: string,
  onMessage: (payload: string) => void,
  onBack: () => void,
): Promise<() => Promise<void>> {
  const ended = new AbortController();
  let current: Client | null = null;
  const loop = (async () => {
    while (!ended.signal.aborted) {
      const client = connect();
      current = client;
      const broken = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      const watched = watch.watch(client, ANSWER_MS);
      try {
        await client.connect();
        client.on('notification', ({ payload }) => onMessage(payload ?? ''));
        await client.query(`LISTEN ${identifier(channel)}`);
        onBack();
        while (!ended.signal.aborted) {
          const isBroken = await Promise.race([broken.then(() => true), pause(PING_MS, ended.signal)]);
          if (isBroken) break;
          await client.query('SELECT 1');
        }
      } catch {
        // If the database cannot be reached, the next statement reports the outage.
      }
      current = null;
      watched.end();
      sever(client);
      await pause(WAIT_MS, ended.signal);
    }
  })();
  return async () => {
    ended.abort();
    if (current !== null) sever(current);
    await loop;
  };
}

/** Resolves with false after this many ms, or when the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<false> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  return false;
}
