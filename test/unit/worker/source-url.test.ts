import { expect, it } from 'vitest';
import { databaseSource, sourceUrl } from '../../../src/worker/config/database-setting.js';

const source = databaseSource('postgres://u:p@db.example/crm?sslmode=verify-full');

it('a source without a user has the login of the warehouse in the same database', () => {
  const bare = 'postgres://db.example/dw?sslmode=verify-full';
  const warehouse = databaseSource('postgres://etl:secret@db.example/dw?sslmode=verify-full');
  const other = databaseSource('postgres://other.example/dw?sslmode=require');
  for (const own of [null, databaseSource(bare), other]) {
    const url = new URL(sourceUrl({ source: own, warehouse }, bare));
    expect(Object.fromEntries(url.searchParams)).toEqual({ user: 'etl', password: 'secret', sslmode: 'verify-full' });
  }
  expect(sourceUrl({ source: databaseSource(bare), warehouse: null }, bare)).toBe(bare);
});

it('another database on the server of the source is read with encryption that is not weaker, and without its login', () => {
  const url = new URL(sourceUrl({ source, warehouse: null }, 'postgres://db.example/other?sslmode=disable'));
  expect([url.searchParams.get('sslmode'), url.username, url.password]).toEqual(['verify-full', '', '']);
});

it('a database of another server is read as its address says', () => {
  const other = 'postgres://other.example/crm?sslmode=require';
  expect(sourceUrl({ source, warehouse: null }, other)).toBe(other);
});
