import { EventSourceParserStream } from 'eventsource-parser/stream';
import { request } from 'undici';
import type { Sandbox } from '../../../src/sandbox/index.js';

/** The events read from a stream, and whether it ended normally or was cut. */
export interface Stream {
  readonly events: { readonly id: string | undefined; readonly event: string | undefined; readonly data: string }[];
  readonly bytes: Buffer;
  readonly ended: 'whole' | 'cut';
}

/** Reads a stream of events to its end, with the parser of a library instead of ours. */
export async function readStream(
  sandbox: Sandbox,
  path: string,
  { body, headers = {} }: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Stream> {
  const response = await request(sandbox.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': 'k', accept: 'text/event-stream', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const chunks: Buffer[] = [];
  let ended: Stream['ended'] = 'whole';
  try {
    for await (const chunk of response.body) chunks.push(chunk as Buffer);
  } catch {
    ended = 'cut';
  }
  const bytes = Buffer.concat(chunks);
  const events: Stream['events'] = [];
  const parsed = new Blob([bytes])
    .stream()
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { id, event, data } of parsed) events.push({ id, event, data });
  return { events, bytes, ended };
}
