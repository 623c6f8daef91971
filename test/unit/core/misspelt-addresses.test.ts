import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { addressSecrets, withoutSecrets } from '../../../src/core/connections/address-secrets.js';
import { whyNoSource } from '../../../src/core/connections/source-address.js';
import { whyNoAddress, whyNoPath } from '../../../src/core/rows/source-fields.js';

const SECRET = 'CANARY7x';
const misspelt = [
  `postgres//bob:${SECRET}@h/x`,
  `postgres:bob:${SECRET}@h/x`,
  `//bob:${SECRET}@h/x`,
  `bob/${SECRET}@host:1521/x`,
  `scott/${SECRET}@//host/x`,
  `scott/${SECRET}@orcl`,
  `/data/dir/bob/${SECRET}@host:1521/x`,
  `PGPASSWORD=${SECRET} psql -h x`,
  `AWS_SECRET_ACCESS_KEY=${SECRET}`,
  `curl -u user:${SECRET} https://h/x`,
  `Server=h;User Id=u;Password=${SECRET};`,
  `https//k:${SECRET}@b/x`,
  `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${SECRET};EndpointSuffix=core.windows.net`,
  ...[
    'api_key',
    'token',
    'aws_secret_access_key',
    'SharedAccessSignature',
    'db.password',
    'x.duckdb?encryption_key',
  ].map((name) => `${name}=${SECRET}`),
  ...[`mysql -u bob -p${SECRET} x`, `snowsql -a b -p ${SECRET}`, `sqlcmd -S h -P '${SECRET}'`],
  ...[`psql "postgres://bob:${SECRET}@h/x"`, `psql 'postgres:/bob:${SECRET}@h/x'`],
];
const hooks = [
  `https://hooks.slack.com/services/T0AA/B0AA/${SECRET}`,
  `https://discord.com/api/webhooks/123456/${SECRET}`,
  `https://x.webhook.office.com/webhookb2/${SECRET}`,
  `https://api.telegram.org/bot12345:${SECRET}/send`,
];

it.each(misspelt)('%s is no path, and its secret is found', (text) => {
  // Made absolute, the form of Oracle is a path like any other.
  for (const path of [text, ...(text.endsWith('@orcl') ? [] : [resolve(text)])])
    expect(whyNoPath(path, 'linux')).not.toBeNull();
  expect(withoutSecrets(`tool: failed for ${text}`)).not.toContain(SECRET);
  expect(addressSecrets(text).some((secret) => secret.includes(SECRET))).toBe(true);
});

it.each(misspelt.filter((text) => !text.startsWith('/data')))('%s is no source', (text) => {
  expect(whyNoSource(text)).not.toBeNull();
  expect(whyNoSource(text)).not.toContain(SECRET);
});

it.each(hooks)('%s is no address of rows, and its path is a secret', (text) => {
  expect(whyNoAddress(text)).toContain('webhook');
  expect(addressSecrets(text).some((secret) => secret.includes(SECRET))).toBe(true);
});

it.each([
  'data/x.csv',
  './out/me@example.com.csv',
  'a b/2026-01-01T10:00.csv',
  '/home/me@corp/out',
  'year=2026/x.parquet',
  'key=1/tokens=2/tokenizer=3/monkey=4/bypass=5/x.csv',
  'my report -page 2.csv',
])('%s is a path', (text) => {
  expect(whyNoPath(text, 'linux')).toBeNull();
  expect(addressSecrets(text)).toEqual([]);
});

it.each([
  'https://x.example/webhooks/rows.csv',
  'https://hooks.example/rows.jsonl.gz',
  's3://bucket/hooks/rows.parquet',
])('%s is an address of rows', (text) => expect(whyNoAddress(text)).toBeNull());
