import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { foreignScheme } from '../../core/connections/address-secrets.js';
import { isLibpqForm, isPostgresUrl } from '../../core/connections/postgres-address.js';
import { sinkOf } from '../../core/rows/sink.js';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { inFolder } from '../../files/open-path.js';
import { realPath } from '../../files/same-file.js';
import {
  hasDatabaseForm,
  POSTGRES_FORM,
  WAREHOUSE_FORMS,
  warehouseFile,
  whyNoWarehouseFile,
} from '../../warehouse/addresses.js';
import { nearestThere } from '../../warehouse/export/why-no-target.js';

/**
 * Why the file of a warehouse cannot be created or changed here; null for a server, and for a file that can be written. Leaves no files.
 */
export async function whyUnwritable(into: string): Promise<string | null> {
  const file = warehouseFile(into);
  if (file === null) return null;
  try {
    const why = whyNoWarehouseFile(into);
    if (why !== null) return `it ${why}`;
    if (existsSync(file)) accessSync(file, constants.W_OK);
    else {
      // Some file systems grant access and then refuse. A swapped link leads nowhere, because the folder is held open.
      const folder = realPath(nearestThere(dirname(file)));
      await inFolder(folder, async (held) => rmdir(await mkdtemp(join(held, '.searchflow-'))));
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Schemes that begin no file's name, beside those of other databases. */
const schemes = /^(postgres|postgresql|file|https?|s3|gs|gcs|az|abfss)$/;

/**
 * Why a text is a mistyped address and not a warehouse; null for a path, a sink and an address whose form names its database. The words follow the name of the setting
 * in a message. Without this check DuckDB would create a file of that name. Never quotes the text, which may hold a password.
 */
export function whyNoWarehouse(into: string): string | null {
  if (sinkOf(into) !== null) return null;
  const text = into.replace(/^\s*(--?[\w-]+=)?['"\s]*|['"\s]+$/g, '');
  const drive = /^[a-z]:[\\/]/i.test(text) ? whyNoPath(text, process.platform) : null;
  if (drive !== null) return drive;
  const scheme = /^([a-z][a-z0-9+.-]+):(\/?)/i.exec(text);
  const name = scheme?.[1]?.toLowerCase() ?? '';
  // Matches an address whose colon is missing or is another character. No folder has such a name.
  if (/^postgres(ql)?[^\w.:/-]?:?\/\//i.test(text) && !isPostgresUrl(text))
    return `is not an address of PostgreSQL; write ${POSTGRES_FORM}`;
  if (isLibpqForm(text)) return `has libpq's form; write ${POSTGRES_FORM}`;
  if (foreignScheme(text) === '') return `has a user or a secret and no scheme; write ${POSTGRES_FORM}`;
  if (text === ':memory:') return `is a database in memory, which would be lost; give ${WAREHOUSE_FORMS}`;
  if (scheme === null || !(scheme[2] === '/' || foreignScheme(text) || schemes.test(name)))
    return whyNoPath(into, process.platform) === null ? null : `is not a warehouse; give ${WAREHOUSE_FORMS}`;
  if (text !== into) return 'has quotes, white space or the name of an option around it; remove them';
  if (hasDatabaseForm(text)) return null;
  return name.startsWith('postgres')
    ? `is not an address of PostgreSQL; write ${POSTGRES_FORM}`
    : `is not a warehouse: ${name}: is not supported; give ${WAREHOUSE_FORMS}`;
}
