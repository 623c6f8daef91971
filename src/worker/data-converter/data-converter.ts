import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { existsSync, linkSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DataConverter, Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { nearest } from '../../core/text/nearest.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { syncFolder, writeDurably } from '../../files/write-durably.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';

export type Setting = Pick<
  RuntimeConfig,
  'dataConverterPath' | 'encrypts' | 'stateDir' | 'temporalAddress' | 'namespace'
>;

/** The failure converter that makes failures encryptable, see `failure-converter.cjs`. */
export const failureConverterPath = inPackage('dist', 'worker', 'data-converter', 'failure-converter.cjs');

/**
 * The data converter of the settings: a module, or the encryption of the state folder; null: Temporal's own. `readsPlain`: whether plain
 * payloads are read although new ones are encrypted.
 */
export async function dataConverterOf(
  { dataConverterPath, encrypts, stateDir, temporalAddress, namespace }: Setting,
  readsPlain: boolean,
): Promise<DataConverter | null> {
  if (dataConverterPath) return loadModule(dataConverterPath);
  if (temporalAddress !== null) return null;
  // Once a folder has a key, its workflows stay encrypted without the setting, so that a forgotten variable writes no plain payload.
  const key = await keyOf(stateDir, encrypts ?? null);
  if (key === null) return null;
  const encodes = encrypts ?? true;
  const setting = { key, namespace, keyFile: keyFileOf(stateDir), encodes, readsPlain: readsPlain || !encodes };
  return {
    payloadCodecs: [createEncryptionCodec(setting)],
    failureConverterPath: encodes ? failureConverterPath : undefined,
  };
}

/** Fields of Temporal's `DataConverter`. */
const fields = ['payloadConverterPath', 'failureConverterPath', 'payloadCodecs', 'externalStorage'];

/** Loads the `dataConverter` of a module, its named or default export. */
async function loadModule(path: string): Promise<DataConverter> {
  const problem = (text: string) =>
    new UsageError('data-converter-unusable', `SEARCHFLOW_DATA_CONVERTER: ${path} ${text}`);
  const module = (await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw problem(`cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  })) as { readonly dataConverter?: unknown; readonly default?: unknown };
  const found = module.dataConverter ?? (module.default as typeof module | undefined)?.dataConverter ?? module.default;
  if (typeof found !== 'object' || found === null)
    throw problem('has no export "dataConverter" with an object of Temporal\'s type DataConverter');
  const unknown = Object.keys(found).find((name) => !fields.includes(name));
  if (unknown !== undefined)
    throw problem(`has the unknown field ${unknown}; did you mean ${nearest(unknown, fields) ?? fields.join(', ')}?`);
  const { payloadCodecs } = found as { readonly payloadCodecs?: unknown };
  if (payloadCodecs !== undefined && !(Array.isArray(payloadCodecs) && payloadCodecs.every(isCodec)))
    throw problem('must have a list of codecs, each with the functions encode and decode, as payloadCodecs');
  return found;
}

const isCodec = (value: unknown): boolean =>
  typeof (value as PayloadCodec | null)?.encode === 'function' &&
  typeof (value as PayloadCodec | null)?.decode === 'function';

/** Encodings that Temporal's own converter reads. */
const readable = ['json/plain', 'json/protobuf', 'binary/null', 'binary/plain', 'binary/protobuf', ''];

/** Changes nothing. Names the setting if a payload needs another converter: Temporal's own error only says `Unknown encoding`. */
const readsPlain: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) => {
    const other = payloads
      .map((payload) => textIn(payload, 'encoding'))
      .find((encoding) => !readable.includes(encoding));
    if (other === undefined) return payloads;
    throw new UsageError(
      'data-converter-unusable',
      `Workflows of this namespace are encoded as ${JSON.stringify(other)}. Set SEARCHFLOW_DATA_CONVERTER to the module of their data converter.`,
    );
  },
};

/** The data converter of a client: `converter`, or one that explains payloads that it cannot read. */
export const forClient = (converter: DataConverter | null): DataConverter =>
  converter ?? { payloadCodecs: [readsPlain] };

/** The file of the key that encrypts the workflows of a state folder. */
export const keyFileOf = (stateDir: string): string => join(stateDir, 'encryption-key');

/**
 * The key of a state folder; null for a folder that is not encrypted. `encrypts`: the setting; null: not set. The file `encrypted` has the id
 * of the key, so that a lost or another key is noticed.
 */
export async function keyOf(stateDir: string, encrypts: boolean | null): Promise<Buffer | null> {
  const mark = join(stateDir, 'encrypted');
  const id = existsSync(mark) ? readFileSync(mark, 'utf8').trim() : null;
  const found = readKey(stateDir);
  const path = keyFileOf(stateDir);
  if (id !== null && found === null && encrypts !== false)
    throw new UsageError(
      'encryption-key-unusable',
      `Workflows of this folder are encrypted, and their key ${path} (${id}) is missing. Restore the file. Without it, these workflows ` +
        'cannot be read; SEARCHFLOW_ENCRYPT=0 writes plain payloads from now on.',
    );
  if (id !== null && found !== null && keyIdOf(found) !== id) throw otherKey(id, path, keyIdOf(found));
  const key = found ?? (encrypts ? await makeKey(stateDir) : null);
  if (key !== null && id === null) await writeDurably(mark, `${keyIdOf(key)}\n`);
  return key;
}

/** Reads the key of a state folder; null without one. Throws `UsageError` for a file that others can read, or that has no key. */
function readKey(stateDir: string): Buffer | null {
  const path = keyFileOf(stateDir);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (!stats.isFile())
    throw new UsageError('encryption-key-unusable', `${path} is not a file. Restore the file with the key.`);
  if ((stats.mode & 0o077) !== 0)
    throw new UsageError(
      'encryption-key-unusable',
      `Other users can read the key in ${path}. Run: chmod 600 '${path}'`,
    );
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (key.length !== KEY_BYTES)
    throw new UsageError(
      'encryption-key-unusable',
      `${path} does not have a key of ${KEY_BYTES} bytes in Base64. Restore the file.`,
    );
  return key;
}

/** The key of a state folder, which is created if there is none. If two processes create it at once, both get the same key. */
async function makeKey(stateDir: string): Promise<Buffer> {
  const path = keyFileOf(stateDir);
  makeFolder(stateDir);
  const draft = `${path}-${randomBytes(8).toString('hex')}`;
  await writeDurably(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  try {
    // Unlike a rename, a link never replaces the key of another process.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  await syncFolder(dirname(path));
  return readKey(stateDir) as Buffer;
}

const CIPHER = 'aes-256-gcm';
/** Bytes of the key, of the nonce and of the authentication tag. */
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
/** What the server adds to the workflow id of a schedule when it starts a run with the arguments of the schedule. */
const SCHEDULED_AT = /-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const PLAIN =
  'Workflows of this folder are encrypted, and this payload is not, so it is refused. Start the workflow with searchflow. ' +
  'To end workflows from before the encryption, set SEARCHFLOW_ENCRYPT=0.';

interface EncryptionSetting {
  readonly key: Buffer;
  readonly namespace: string;
  /** For messages. */
  readonly keyFile: string;
  /** Whether new payloads are encrypted. */
  readonly encodes: boolean;
  /** Whether plain payloads are read. A worker must not obey them. */
  readonly readsPlain: boolean;
}

/**
 * Encrypts payloads with AES-256-GCM, each for its namespace and workflow id: elsewhere it cannot be decrypted. The encrypted text has the
 * metadata of the payload, too.
 */
export function createEncryptionCodec({
  key,
  namespace,
  keyFile,
  encodes,
  readsPlain,
}: EncryptionSetting): PayloadCodec {
  const keyId = keyIdOf(key);
  const metadata = { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(keyId) };
  const ownerOf = (context?: SerializationContext) =>
    Buffer.from(JSON.stringify([namespace, context?.workflowId?.replace(SCHEDULED_AT, '') ?? null]));
  const encode = (payload: Payload, context?: SerializationContext): Payload => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(ownerOf(context));
    const encrypted = [cipher.update(packed(payload)), cipher.final()];
    return { metadata, data: Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]) };
  };
  const decode = (payload: Payload, context?: SerializationContext): Payload => {
    if (textIn(payload, 'encoding') !== ENCODING) {
      if (readsPlain) return payload;
      throw new UsageError('encryption-key-unusable', PLAIN);
    }
    const [data, id] = [payload.data ?? new Uint8Array(), textIn(payload, KEY_ID)];
    if (id !== keyId) throw otherKey(id, keyFile, keyId);
    const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES)).setAAD(ownerOf(context));
    decipher.setAuthTag(data.subarray(data.length - TAG_BYTES));
    const bytes = decipher.update(data.subarray(NONCE_BYTES, data.length - TAG_BYTES));
    return unpacked(Buffer.concat([bytes, decipher.final()]));
  };
  return {
    encode: async (payloads, context) => (encodes ? payloads.map((one) => encode(one, context)) : payloads),
    decode: async (payloads, context) => payloads.map((one) => decode(one, context)),
  };
}

/** The error about payloads or a folder with the key `id`, where the key file has the key `own`. */
const otherKey = (id: string, keyFile: string, own: string): UsageError =>
  new UsageError(
    'encryption-key-unusable',
    `Workflows of this folder were encrypted with another key (${id}) than that of ${keyFile} (${own}). Restore the former file.`,
  );

const keyIdOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

/** A field of the metadata as text; empty without it. */
const textIn = ({ metadata }: Payload, name: string): string => Buffer.from(metadata?.[name] ?? []).toString();

/** A payload as bytes: a line of JSON with the metadata in Base64, then the data. */
function packed({ metadata, data }: Payload): Buffer {
  const texts = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  // A payload without data, such as that of undefined, has an empty list.
  return Buffer.concat([Buffer.from(`${JSON.stringify(Object.fromEntries(texts))}\n`), Uint8Array.from(data ?? [])]);
}

function unpacked(bytes: Buffer): Payload {
  const end = bytes.indexOf('\n');
  const texts = JSON.parse(bytes.toString('utf8', 0, end)) as Record<string, string>;
  const metadata = Object.entries(texts).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(metadata), data: bytes.subarray(end + 1) };
}
