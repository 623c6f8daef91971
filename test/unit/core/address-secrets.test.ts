import { expect, it } from 'vitest';
import { scrubber } from '../../../src/cli/shared/terminal.js';
import { addressSecrets, foreignScheme } from '../../../src/core/connections/address-secrets.js';
import { whyNoSource } from '../../../src/core/connections/source-address.js';

const foreign: Readonly<Record<string, string>> = {
  'mysql://bob:s3cr3t@h/x': 'mysql',
  'MySQL://bob:s3cr3t@h/x': 'mysql',
  'mysql ://bob:s3cr3t@h/x': 'mysql',
  'mysql: // bob:s3cr3t@h/x': 'mysql',
  ' mysql:/bob:s3cr3t@h/x': 'mysql',
  'mysql:bob:s3cr3t@h/x': 'mysql',
  'mysql://bob:p/s3cr3t?#w@h/x': 'mysql',
  'mysql://bob:s3cr3t@x@h/x': 'mysql',
  'postgresql+psycopg2://bob:s3cr3t@h/x': 'postgresql+psycopg2',
  'snowflake://bob:s3cr3t@account/db?warehouse=w': 'snowflake',
  'jdbc:mysql://h/x?user=bob&password=s3cr3t': 'jdbc:mysql',
  'jdbc:sqlserver://h:1433;user=bob;password=s3cr3t;': 'jdbc:sqlserver',
  'JDBC : oracle:thin:bob/s3cr3t@h:1521:x': 'jdbc:oracle',
  'ftp://bob:s3cr3t@h/x.csv': 'ftp',
  'mongodb+srv://bob:s3cr3t@h/x': 'mongodb+srv',
  'unheard-of://bob:s3cr3t@h/x': 'unheard-of',
  'bob:s3cr3t@h/db': '',
  'x.duckdb?encryption_key=s3cr3t': '',
};

it.each(Object.entries(foreign))(
  '%s is refused by the name of its scheme, and its secret is never shown',
  (text, scheme) => {
    expect(foreignScheme(text)).toBe(scheme);
    const why = whyNoSource(text) as string;
    expect(why).not.toMatch(/s3cr3t|bob/);
    if (!scheme.startsWith('postgres')) expect(why).toContain(scheme === '' ? 'no scheme' : `an address of ${scheme},`);
    for (const argument of [text, `--from=${text}`]) {
      const scrub = scrubber({}, [argument]);
      for (const said of [
        argument,
        `error: unknown option '${argument}'`,
        `/home/x/${text.replace('//', '/')} does not exist`,
      ])
        expect(scrub(said)).not.toContain('s3cr3t');
    }
  },
);

it.each([
  'rows.csv',
  'C:\\rows.csv',
  '2026-01-01T10:30:00Z',
  'https://a.example/x?q=12345',
  's3://bucket/x?region=eu-west-1',
  'me@example.com',
  'title: x',
])('nothing of %s is hidden, and it is no foreign address', (text) => {
  expect(foreignScheme(text)).toBeNull();
  expect(addressSecrets(text)).toEqual([]);
});

it('the query of an address is shown but for names of secrets, and words of a good address stay readable', () => {
  const scrub = scrubber({}, [
    'https://a.example/x?token=s3cr3t&day=monday',
    'postgres://postgres:postgres@host/db?sslmode=require',
  ]);
  expect(scrub('s3cr3t monday postgres require postgres://postgres:postgres@host/db')).toBe(
    '[redacted] monday postgres require postgres://[redacted]@host/db',
  );
  for (const url of ['postgres://bob:a?s3cr3t@h/db', 'https://bob:a#s3cr3t@h/db'])
    expect(scrubber({}, [url])(`--url: ${url} is wrong`)).not.toContain('s3cr3t');
  expect(scrubber({}, ["password='two words' host=h"])('two words')).toBe('[redacted]');
});
