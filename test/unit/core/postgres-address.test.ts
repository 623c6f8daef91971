import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  addressProblem,
  parseAddress,
  strictest,
  whyPlain,
  withTlsOf,
} from '../../../src/core/connections/postgres-address.js';

const parse = (url: string) => parseAddress(url, 'searchflow');
const problemOf = (url: string): string => {
  try {
    parse(url);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

describe('the address of a database', () => {
  it('is identified by host, port, database and schema, and passed on with all parameters except the credentials', () => {
    const address = parse(
      'postgres://me:se%40cret@db.example:6000/ware%20house?schema=Odd"name&sslrootcert=/etc/ca.pem&sslmode=verify-full',
    );
    const { shown, carried, user, password, parameters, ...rest } = address;
    expect(shown).toBe('postgres://db.example:6000/ware%20house?schema=Odd%22name');
    expect(carried).toBe(`${shown}&sslmode=verify-full&sslrootcert=/etc/ca.pem`);
    expect(rest).toEqual({ host: 'db.example', port: 6000, database: 'ware house', schema: 'Odd"name' });
    expect([user, password?.reveal()]).toEqual(['me', 'se@cret']);
    expect(parameters).toEqual({ sslmode: 'verify-full', sslrootcert: '/etc/ca.pem' });
    expect(inspect(address) + JSON.stringify(address)).not.toContain('se@cret');
    const again = parse(carried);
    expect(again).toEqual({ ...address, user: null, password: null });
  });

  it('keeps its identity, on which the ids of earlier jobs depend', () => {
    const shown = {
      'postgres://db.internal/etl': 'postgres://db.internal:5432/etl',
      'postgresql://ann:pw@db:6432/dw?schema=raw&sslmode=require': 'postgres://db:6432/dw?schema=raw',
      'postgres://db/dw?schema=searchflow': 'postgres://db:5432/dw',
      'postgres://[::1]:5433/etl': 'postgres://[::1]:5433/etl',
      'postgres:///etl': 'postgres://localhost:5432/etl',
    };
    for (const [url, identity] of Object.entries(shown)) expect(parse(url).shown).toBe(identity);
  });

  it('compares hosts without case, and recognizes one server under several names', () => {
    const same = [
      'postgres://DB.Internal/Etl',
      'postgres://db.internal:5432/Etl?sslmode=verify-full',
      'postgres:///Etl?host=db.INTERNAL&port=5432',
    ];
    expect(new Set(same.map((url) => parse(url).shown))).toEqual(new Set(['postgres://db.internal:5432/Etl']));
    expect(parse('postgres:///etl?host=/run/pg').shown).toBe(parse('postgres://%2Frun%2Fpg/etl').shown);
    expect(parse(parse('postgres:///etl?host=/run/pg').carried).host).toBe('/run/pg');
  });

  it('distinguishes two servers by one parameter, and refuses a server that is named twice', () => {
    expect(parse('postgres:///etl?host=/run/a').shown).not.toBe(parse('postgres:///etl?host=/run/b').shown);
    expect(problemOf('postgres://a/etl?host=b')).toBe('names its host twice');
    expect(problemOf('postgres://a:1/etl?port=2')).toBe('names its port twice');
    expect(problemOf('postgres://a,b/etl')).toBe('names more than one host');
    expect(problemOf('postgres://a/etl?sslmode=verify-full&sslmode=disable')).toBe('gives a parameter twice');
  });

  it('refuses an unknown parameter, and suggests the nearest', () => {
    expect(problemOf('postgres://db/etl?sslmod=verify-full')).toBe(
      'has the unknown parameter sslmod; did you mean sslmode?',
    );
    expect(problemOf('postgres://db/etl?ssl=true')).toMatch(/did you mean sslmode\?$/);
    expect(problemOf('postgres://db/etl?target_session_attrs=any')).toMatch(
      /^has an unknown parameter; known are sslmode, /,
    );
  });

  it('is refused without quoting it', () => {
    for (const wrong of [
      'postgres://me:secret@host',
      'mysql://me:secret@host/db',
      'postgres://me:secret@ho st/db',
      'postgres://me:1?secret@h/db',
      'postgres://me:1#secret@h/db',
      'postgres://me:secret@h/db?user=secret',
      'postgres://me:secret@h/db?port=secret',
      'postgres://me:secret@h/db?connect_timeout=secret',
      'postgres://me:secret@h/db?schema=pg_own',
      'postgres://me:secret@h/db?schema=a%24body%24b',
      'postgres://me:secret@h/db?sslmode=secret',
      'postgres://me:secret@h/db?sslmode=verify-ca',
      'postgres://me:secret@h/db?sslmode=require&sslrootcert=system',
      'postgres://me:secret@h/db?sslmode=verify-full&sslcert=x',
      'postgres://me:secret@h/db?sslrootcert=x',
    ]) {
      expect(problemOf(wrong)).toMatch(/^(?!.*secret).+/);
    }
  });

  it('has no sslmode that falls back to plain text', () => {
    for (const mode of ['allow', 'prefer'])
      expect(problemOf(`postgres://db/etl?sslmode=${mode}`)).toBe(
        `has sslmode=${mode}, which allows an unencrypted connection; use disable, require, verify-ca, verify-full`,
      );
  });

  it('is used in plain text on another host only with an explicit parameter', () => {
    for (const url of ['postgres://db/etl', 'postgres://localhost.example.com/etl', 'postgres:///etl?host=10.0.0.7'])
      expect(whyPlain(parse(url))).toMatch(/sslmode=verify-full, or sslmode=disable/);
    for (const url of [
      'postgres://localhost/etl',
      'postgres://127.0.0.1/etl',
      'postgres://[::1]/etl',
      'postgres:///etl?host=/run/pg',
      ...['postgres://db/etl?sslmode=disable', 'postgres://db/etl?sslmode=require'],
    ])
      expect(whyPlain(parse(url))).toBeNull();
  });

  it('with the credentials applies, made stricter by the address of a job and never weaker', () => {
    const own = 'postgres://ann:pw@db/etl?sslmode=require';
    expect(strictest(own, 'postgres://db/etl?sslmode=disable')).toBe(own);
    expect(strictest(own, 'postgres://db/etl')).toBe(own);
    const evil = '&sslrootcert=/evil.pem&sslcert=/evil.crt&sslkey=/evil.key';
    for (const mode of ['verify-full', 'verify-ca', 'require'])
      expect(strictest(own, `postgres://db/etl?sslmode=${mode}${evil}`)).toBe(
        'postgres://ann:pw@db/etl?sslmode=verify-full',
      );
    const withCa = 'postgres://ann:pw@db/etl?sslmode=require&sslrootcert=/ca.pem';
    expect(strictest(withCa, `postgres://db/etl?sslmode=verify-ca${evil}`)).toBe(withCa);
    expect(strictest(withCa, `postgres://db/etl?sslmode=verify-full${evil}`)).toBe(
      'postgres://ann:pw@db/etl?sslmode=verify-full&sslrootcert=%2Fca.pem',
    );
    const full = 'postgres://ann:pw@db/etl?sslmode=verify-full';
    expect(strictest(full, `postgres://db/etl?sslmode=verify-full${evil}`)).toBe(full);
    expect(withTlsOf(`postgres://db/other?sslmode=require${evil}`, full)).toBe(
      'postgres://db/other?sslmode=verify-full',
    );
    expect(withTlsOf(`postgres://db/other?schema=s&sslmode=verify-full${evil}`, withCa)).toBe(
      'postgres://db/other?schema=s&sslmode=verify-full&sslrootcert=%2Fca.pem',
    );
    expect(withTlsOf('postgres://localhost/other', 'postgres://ann:pw@localhost/etl')).toBe(
      'postgres://localhost/other',
    );
  });
});

describe('the addresses of a workflow input', () => {
  it('contain no credentials, in any form and place', () => {
    for (const into of [
      ...['postgres://ann:canary@db/etl', 'postgresql://canary@db/etl?schema=x', 'POSTGRES://ann:canary@db/etl'],
      'postgres://db/etl?user=ann&password=canary',
      'postgres://db/etl?password=canary',
      'postgres:///etl?user=canary',
    ]) {
      const problem = /into: the address holds a user or password(?!.*canary).*warehouseUrl/;
      for (const input of [{ into }, { input: { into } }, { input: 'rows.csv', staged: { into } }])
        expect(addressProblem(input)).toMatch(problem);
    }
    for (const into of [
      'postgres://ann:ca/nary@db/etl',
      'postgres://ann:1?canary@db/etl',
      'postgres://db/etl?passwort=canary',
    ])
      expect(addressProblem({ into })).toMatch(/^into: the address (?!.*canary)/);
    expect(addressProblem({ origin: 'https://ann:canary@api.example.com' })).toMatch(/^origin: (?!.*canary)/);
  });

  it('are accepted without them', () => {
    for (const into of [undefined, 5, 'out/canary@x.duckdb', 'postgres://db.internal/etl?sslmode=verify-full'])
      expect(
        addressProblem({ into, origin: 'sandbox', input: '/data/a@b.csv', query: 'postgres://a:b@c/d' }),
      ).toBeNull();
    for (const input of [undefined, null, 5, 'x', {}, { input: null, staged: [] }])
      expect(addressProblem(input)).toBeNull();
  });
});
