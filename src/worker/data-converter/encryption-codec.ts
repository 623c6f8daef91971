import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { UsageError } from '../config/runtime-types.js';

const CIPHER = 'aes-256-gcm';
/** Bytes of the key, of the nonce and of the authentication tag. */
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';

/**
 * Encrypts payloads with AES-256-GCM. The encrypted text has the metadata of the payload, too. Payloads that are not encrypted are read as
 * they are. `encodes`: whether new payloads are encrypted. `keyFile`: for messages.
 */
export function createEncryptionCodec(key: Buffer, encodes: boolean, keyFile: string): PayloadCodec {
  const keyId = createHash('sha256').update(key).digest('hex').slice(0, 16);
  const metadata = { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(keyId) };
  const encode = (payload: Payload): Payload => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce);
    const encrypted = [cipher.update(packed(payload)), cipher.final()];
    return { metadata, data: Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]) };
  };
  const decode = (payload: Payload): Payload => {
    if (textIn(payload, 'encoding') !== ENCODING) return payload;
    const [data, id] = [payload.data ?? new Uint8Array(), textIn(payload, KEY_ID)];
    if (id !== keyId)
      throw new UsageError(
        'encryption-key-unusable',
        `Workflows of this folder were encrypted with another key (${id}) than that of ${keyFile} (${keyId}). Restore the former file.`,
      );
    const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(data.subarray(data.length - TAG_BYTES));
    const bytes = decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES));
    return unpacked(Buffer.concat([bytes, decipher.final()]));
  };
  return {
    encode: async (payloads) => (encodes ? payloads.map(encode) : payloads),
    decode: async (payloads) => payloads.map(decode),
  };
}

/** A field of the metadata as text; empty without it. */
export const textIn = ({ metadata }: Payload, name: string): string => Buffer.from(metadata?.[name] ?? []).toString();

/** A payload as bytes: a line of JSON with the metadata in Base64, then the data. */
function packed({ metadata, data }: Payload): Buffer {
  const texts = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return Buffer.concat([Buffer.from(`${JSON.stringify(Object.fromEntries(texts))}\n`), data ?? new Uint8Array()]);
}

function unpacked(bytes: Buffer): Payload {
  const end = bytes.indexOf('\n');
  const texts = JSON.parse(bytes.toString('utf8', 0, end)) as Record<string, string>;
  const metadata = Object.entries(texts).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(metadata), data: bytes.subarray(end + 1) };
}
