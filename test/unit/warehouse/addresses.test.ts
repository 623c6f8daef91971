import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  hasDatabaseForm,
  WAREHOUSE_FORMS,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from '../../../src/warehouse/index.js';

describe('the address of a warehouse', () => {
  it('with a form of its own names its database, and has no file and no credentials', () => {
    const address = 'postgres://ann:secret@db.example:5433/results?sslmode=require';
    expect(hasDatabaseForm(address)).toBe(true);
    expect(warehouseFile(address)).toBeNull();
    expect(whyNoWarehouseFile(address)).toBeNull();
    expect(warehouseAddress(address)).toBe('postgres://db.example:5433/results?sslmode=require');
    expect(warehouseIdentity(address)).toBe('postgres://db.example:5433/results');
  });

  it('without such a form is the path of a DuckDB file, relative to the folder', () => {
    for (const path of ['out/results.duckdb', 'postgres', 'other:/results']) {
      expect(hasDatabaseForm(path)).toBe(false);
      for (const of of [warehouseFile, warehouseAddress, warehouseIdentity])
        expect(of(path, '/data')).toBe(resolve('/data', path));
    }
    expect(whyNoWarehouseFile('results.csv', '/data')).toContain('is named as a .csv file');
  });

  it('that is invalid has no file, so that a setting can report the mistake', () => {
    expect(warehouseFile('postgres://')).toBeNull();
    expect(() => warehouseAddress('postgres://')).toThrow(/names no database/);
  });

  it('is listed with its forms in messages', () => {
    expect(WAREHOUSE_FORMS).toBe('the path of a DuckDB file, or postgres://host:5432/database');
  });
});
