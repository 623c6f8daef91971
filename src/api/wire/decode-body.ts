import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
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

type Decode = (bytes: Buffer, options: zlib.ZlibOptions) => Promise<Buffer>;

const decoders = new Map<string, Decode>([
  ['gzip', promisify(zlib.gunzip)],
  ['x-gzip', promisify(zlib.gunzip)],
  ['br', promisify(zlib.brotliDecompress)],
]);
/** Node.js has zstd since 22.15. */
const { zstdDecompress } = zlib as { readonly zstdDecompress?: typeof zlib.gunzip };
/** The encodings in which a body is kept readable although they were not requested. */
const keptDecoders = new Map<string, Decode>([
  ...decoders,
  [
    'deflate',
    (bytes, options) => promisify(zlib.inflate)(bytes, options).catch(() => promisify(zlib.inflateRaw)(bytes, options)),
  ],
  ...(zstdDecompress ? [['zstd', promisify(zstdDecompress)] as const] : []),
]);
const MOST_ENCODINGS = 4;

/** Chunks are large, because each chunk costs a round trip to the thread pool. */
const CHUNK = 131_072;

/** The error for a body above the size limit. */
export function bodyTooLarge(maxBytes: number): UnreadableBody {
  const mib = Math.round((maxBytes / 1_048_576) * 100) / 100;
  return new UnreadableBody('refused', `the answer is larger than ${mib} MiB; request fewer pages or characters`);
}

/**
 * Decodes the `Content-Encoding` of a body, up to `maxBytes` after decompression. Decompression stops at the limit, so a decompression bomb
 * takes no more memory than the limit. Rejects with {@link UnreadableBody}.
 */
export async function decodeBody(body: Buffer, encoding: string | null, maxBytes: number): Promise<Buffer> {
  const encodings = encodingsOf(encoding);
  const [name] = encodings;
  if (name === undefined) return body;
  const shown = encodings.map((one) => one.replace(/[^a-z0-9-]/g, '?').slice(0, 20)).join(', ');
  if (encodings.length > 1) throw new UnreadableBody('refused', `the answer is encoded more than once (${shown})`);
  const decode = decoders.get(name);
  if (!decode) throw new UnreadableBody('refused', `the answer has the encoding ${shown}, which was not requested`);
  try {
    return await decode(body, { maxOutputLength: maxBytes, chunkSize: CHUNK });
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes);
    throw new UnreadableBody('broken', 'the compressed answer is damaged or broke off', { cause });
  }
}

/** Returns the encodings of a body in the order in which they were applied. */
function encodingsOf(encoding: string | null): readonly string[] {
  const names = (encoding ?? '').split(',', 8).flatMap((name) => name.trim().toLowerCase() || []);
  return names.filter((name) => name !== 'identity');
}

/** Returns an unusable body in a readable form: decoded as far as possible, up to `maxBytes`. */
export async function decodedToKeep(body: Buffer, encoding: string | null, maxBytes: number): Promise<Buffer> {
  let decoded = body;
  for (const name of encodingsOf(encoding).slice(-MOST_ENCODINGS).reverse()) {
    const decode = keptDecoders.get(name);
    if (!decode) break;
    try {
      decoded = await decode(decoded, { maxOutputLength: maxBytes, chunkSize: CHUNK });
    } catch {
      break;
    }
  }
  return decoded;
}

/** Returns bytes as a text; bytes that are no text, as a data URL. The last character of a text may be cut. */
export function keptText(bytes: Buffer): string {
  const isText = [0, 1, 2, 3].some((cut) => isUtf8(bytes.subarray(0, Math.max(0, bytes.length - cut))));
  return isText || bytes.length < 4 ? bytes.toString('utf8') : `data:;base64,${bytes.toString('base64')}`;
}
