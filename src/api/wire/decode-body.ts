import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { codeOf } from './errors.js';

/** A body that can't be read: `refused` (too large, or in an encoding we didn't ask for) or `broken` (damaged or cut). */
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

/** What we ask for; the answer may hold one of them, once. */
export const ACCEPT_ENCODING = 'gzip, br';

const decoders = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
]);

/** Large pieces: a piece is a trip to the thread pool and back. */
const CHUNK = 131_072;

/** The refusal of a body above the cap, which a person can act upon. */
export function tooLarge(maxBytes: number): UnreadableBody {
  const mib = Math.round((maxBytes / 1_048_576) * 100) / 100;
  return new UnreadableBody(
    'refused',
    `the answer is larger than ${mib} MiB; ask for fewer pages or characters a request`,
  );
}

/**
 * Undoes the `Content-Encoding` of a body of at most `maxBytes` after decompression; stops inflating as soon as it is
 * above, so a bomb costs no more than the cap. Rejects with {@link UnreadableBody}.
 */
export async function decodeBody(body: Buffer, encoding: string | null, maxBytes: number): Promise<Buffer> {
  const names = (encoding ?? '').split(',', 8).flatMap((name) => name.trim().toLowerCase() || []);
  const encodings = names.filter((name) => name !== 'identity');
  const [name] = encodings;
  if (name === undefined) return body;
  if (encodings.length > 1) throw new UnreadableBody('refused', 'the answer is encoded more than once');
  const decode = decoders.get(name);
  if (!decode) throw new UnreadableBody('refused', 'the answer is in an encoding that was not asked for');
  try {
    return await decode(body, { maxOutputLength: maxBytes, chunkSize: CHUNK });
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new UnreadableBody('broken', 'the compressed answer is damaged or broke off', { cause });
  }
}
