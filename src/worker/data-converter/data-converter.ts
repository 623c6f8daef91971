import { pathToFileURL } from 'node:url';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { nearest } from '../../core/text/nearest.js';
import { inPackage } from '../../files/package-root.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { createEncryptionCodec, keyFileOf, keyOf, textIn } from './encryption-key.js';

type Setting = Pick<RuntimeConfig, 'dataConverterPath' | 'encrypts' | 'stateDir' | 'temporalAddress' | 'namespace'>;

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
