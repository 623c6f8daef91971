import { expect, it } from 'vitest';
import { isMetadata } from '../../../src/core/connections/metadata-address.js';
import { parseAddress } from '../../../src/core/connections/postgres-address.js';
import { whyNoAddress } from '../../../src/core/rows/source-fields.js';
import { alertUrl } from '../../../src/worker/config/alert-setting.js';

const hosts = [
  ...['169.254.169.254', '169.254.170.2', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '100.100.100.200'],
  ...['metadata.google.internal', '[fe80::1]', '[fd00:ec2::254]', '[::ffff:169.254.169.254]', 'metadata.goog'],
  '192.0.0.192',
  '168.63.129.16',
  '[fd20:ce::254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[::169.254.169.254]',
  ...['[64:ff9b:1::a9fe:a9fe]', '[64:ff9b:1:a9fe:a9:fe00::]', '[::ffff:0:a9fe:a9fe]'],
];

it.each(hosts)('the metadata address %s is no source, target, database and webhook', (host) => {
  expect(isMetadata(host)).toBe(true);
  for (const address of [`http://${host}/a.csv`, `https://${host}:8443/a.csv`, `s3://bucket/a.csv?endpoint=${host}`])
    expect([address, whyNoAddress(address)]).toEqual([address, expect.stringMatching(/metadata|no valid|wrong value/)]);
  for (const address of [`postgres://${host}/db`, `postgres:///db?host=${host}`, `postgres://${host}:80/db`])
    expect(() => parseAddress(address, ''), address).toThrow(/metadata|is not an address/);
  expect(() => alertUrl(`https://${host}/x`)).toThrow('is a metadata address');
});

it.each(['169.253.1.1', '10.0.0.1', 'metadata.example', 'localhost', '::1', '/var/run/postgresql'])(
  '%s is none',
  (host) => {
    expect(isMetadata(host)).toBe(false);
  },
);
