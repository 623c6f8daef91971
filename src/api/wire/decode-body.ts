import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { codeOf } from './errors.js';

/** An unreadable body: `refused` (too large, or an encoding that was not requested) or `broken` (damaged or incomplete). */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
  constructor(
    readonly kind: 'refused' | 'broken',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The accepted encodings. An answer may use at most one encoding, and only once. */
export const ACCEPT_ENCODING = 'gzip, br';

const decoders = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
]);

/** Chunks are large, because each chunk costs a round trip to the thread pool. */
const CHUNK = 131_072;

/** The error for a body above the size limit. */
export function tooLarge(maxBytes: number): UnreadableBody {
  const mib = Math.round((maxBytes / 1_048_576) * 100) / 100;
  return new UnreadableBody('refused', `the answer is larger than ${mib} MiB; request fewer pages or characters`);
}

/**
 * Decodes the `Content-Encoding` of a body, up to `maxBytes` after decompression. Decompression stops at the limit, so a decompression bomb
 * takes no more memory than the limit. Rejects with {@link UnreadableBody}.
 */
export async function decodeBody(body: Buffer, encoding: string | null, maxBytes: number): Promise<Buffer> {
  const names = (encoding ?? '').split(',', 8).flatMap((name) => name.trim().toLowerCase() || []);
  const encodings = names.filter((name) => name !== 'identity');
  const [name] = encodings;
  if (name === undefined) return body;
  if (encodings.length > 1) throw new UnreadableBody('refused', 'the answer is encoded more than once');
  const decode = decoders.get(name);
  if (!decode) throw new UnreadableBody('refused', 'the answer has an encoding that was not requested');
  try {
    return await decode(body, { maxOutputLength: maxBytes, chunkSize: CHUNK });
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new UnreadableBody('broken', 'the compressed answer is damaged or broke off', { cause });
  }
}
