import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { defaultPayloadConverter, type PayloadCodec, type SerializationContext } from '@temporalio/common';
import { expect, it } from 'vitest';
import { createEncryptionCodec, keyFileOf, keyOf } from '../../../src/worker/data-converter/data-converter.js';
import { folderOfTest } from '../../support/files/folders.js';

const setting = { key: Buffer.alloc(32, 1), namespace: 'default', keyFile: 'key', encodes: true, readsPlain: false };
const plain = defaultPayloadConverter.toPayload('canary');
const of = (workflowId: string): SerializationContext => ({ type: 'workflow', namespace: 'default', workflowId });
const read = async (
  codec: PayloadCodec,
  payloads: Parameters<PayloadCodec['decode']>[0],
  context?: SerializationContext,
) => (await codec.decode(payloads, context)).map((one) => defaultPayloadConverter.fromPayload(one));

it('a payload is read by its own workflow, by its activities and by the runs of its schedule only', async () => {
  const codec = createEncryptionCodec(setting);
  const encrypted = await codec.encode([plain], of('nightly'));
  expect(Buffer.from(encrypted[0]?.data ?? []).toString('latin1')).not.toContain('canary');
  const activity = { type: 'activity', namespace: 'default', workflowId: 'nightly', isLocal: false } as const;
  for (const context of [of('nightly'), of('nightly-2026-11-27T02:30:00Z'), activity])
    expect(await read(codec, encrypted, context)).toEqual(['canary']);
  for (const context of [of('other'), undefined])
    await expect(codec.decode(encrypted, context)).rejects.toThrow(/unable to authenticate/);
  const elsewhere = createEncryptionCodec({ ...setting, namespace: 'other' });
  await expect(elsewhere.decode(encrypted, of('nightly'))).rejects.toThrow(/unable to authenticate/);
});

it('a payload without data is encrypted, as the SDK passes it from a workflow', async () => {
  const codec = createEncryptionCodec(setting);
  const { metadata } = defaultPayloadConverter.toPayload(undefined);
  const empty = { metadata, data: [] as unknown as Uint8Array };
  expect(await read(codec, await codec.encode([empty]))).toEqual([undefined]);
});

it('a worker refuses plain payloads, and a client or a folder without encryption reads them', async () => {
  const context = of('nightly');
  await expect(createEncryptionCodec(setting).decode([plain], context)).rejects.toThrow(/is not, so it is refused/);
  for (const changes of [{ readsPlain: true }, { readsPlain: true, encodes: false }])
    expect(await read(createEncryptionCodec({ ...setting, ...changes }), [plain], context)).toEqual(['canary']);
});

it('a lost key and another key are refused by name, and a folder without a key is plain', async () => {
  const dir = folderOfTest();
  expect(await keyOf(dir, null)).toBeNull();
  const key = await keyOf(dir, true);
  expect(await keyOf(dir, null)).toEqual(key);
  const kept = readFileSync(keyFileOf(dir));
  rmSync(keyFileOf(dir));
  for (const encrypts of [true, null])
    await expect(keyOf(dir, encrypts)).rejects.toThrow(/is missing. Restore the file/);
  expect(await keyOf(dir, false)).toBeNull();
  writeFileSync(keyFileOf(dir), Buffer.alloc(32).toString('base64'), { mode: 0o600 });
  await expect(keyOf(dir, null)).rejects.toThrow(/encrypted with another key .* Restore/);
  writeFileSync(keyFileOf(dir), kept);
  expect(await keyOf(dir, null)).toEqual(key);
});
