import { z } from 'zod';
import { Secret } from '../core/secret.js';
import { parseAddress } from '../postgres/index.js';
import type { DatabaseAddress, RuntimeConfig } from './runtime-types.js';
import type { Found, SettingsReader } from './settings-reader.js';

/** Schemas of a database that names none. */
export const STORE_SCHEMA = 'searchflow_store';
const WAREHOUSE_SCHEMA = 'searchflow';

/** A process that has not been heard of for so long is dead: its claims are another's to take. */
export const DEFAULT_DEAD_AFTER_MS = 15_000;

/** Where many workers meet, and who they are there. */
export type StoreSetting = Required<Pick<RuntimeConfig, 'store' | 'team' | 'warehouse' | 'deadAfterMs'>>;

export function readStore(reader: SettingsReader): StoreSetting {
  const team = reader.check(
    reader.variable('SEARCHFLOW_TEAM'),
    z.string().regex(/^[\w.-]{1,60}$/),
    'a name of at most 60 letters, digits, dots, dashes and underscores',
  );
  const seconds = reader.check(
    reader.variable('SEARCHFLOW_DEAD_AFTER_SECONDS'),
    z
      .string()
      .regex(/^\d{1,4}$/)
      .transform(Number)
      .pipe(z.number().min(2)),
    'a whole number of seconds from 2 to 9999',
  );
  return {
    store: readDatabase(reader, reader.variable('SEARCHFLOW_STORE'), STORE_SCHEMA),
    warehouse: readDatabase(reader, reader.variable('SEARCHFLOW_WAREHOUSE_URL'), WAREHOUSE_SCHEMA),
    team,
    deadAfterMs: seconds === null ? DEFAULT_DEAD_AFTER_MS : seconds * 1000,
  };
}

/** An address of a database. It may hold a password, so a mistake never quotes it. */
function readDatabase(reader: SettingsReader, found: Found | null, schema: string): DatabaseAddress | null {
  if (found === null) return null;
  try {
    const { shown } = parseAddress(found.text, schema);
    return { url: new Secret(found.text), shown };
  } catch (error) {
    reader.wrong(found, `${error instanceof Error ? error.message : String(error)}.`, 'the value (not shown)');
    return null;
  }
}
