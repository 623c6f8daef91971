import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DEFAULT_EVENT_WAREHOUSE } from '../../core/events/walk-job.js';
import { DEFAULT_MONITOR_WAREHOUSE } from '../../core/monitors/monitor-names.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { loadExtension, openScratchDuckDb, warehouseFile, warehouseFileVersion } from '../../warehouse/index.js';
import { FolderJobs } from '../store/folder-jobs.js';
import { type Found, messageOf, ok, problem, type Setup, warning } from './finding.js';

/** Maximum number of warehouse files that are opened. */
const MOST_FILES = 20;
const ENDING = '.duckdb_extension';
/** Extensions that searchflow uses, each with what needs it. */
const uses = { httpfs: 's3:// and https://', ducklake: 'a DuckLake' } as const;

/** The versions of the warehouse files of this folder's jobs. */
export async function checkWarehouseFiles({ cwd, config }: Setup): Promise<readonly Found[]> {
  const jobs = new FolderJobs(join(config.stateDir, 'jobs'));
  const [entries, walks] = await Promise.all([jobs.all(), jobs.walks()]);
  const named = [...entries.map(({ staged }) => staged.into), ...walks.map(({ into }) => into)].reverse();
  const usual = [DEFAULT_EVENT_WAREHOUSE, DEFAULT_MONITOR_WAREHOUSE].map((path) => resolve(cwd, path));
  const files = new Set(
    [...named, ...usual].map((into) => warehouseFile(into, cwd)).filter((file) => file !== null && existsSync(file)),
  );
  const found = await Promise.all([...files].slice(0, MOST_FILES).map((file) => fileFinding(file as string)));
  const bad = found.filter(({ level }) => level !== 'ok');
  if (bad.length > 0 || found.length === 0) return bad;
  return [ok(`Warehouse files of jobs: ${found.length}, all of a version that can be used.`)];
}

async function fileFinding(file: string): Promise<Found> {
  try {
    await warehouseFileVersion(file);
    return ok(file);
  } catch (error) {
    // A worker that loads into the file has opened it, so its version is right.
    if (error instanceof WarehouseBusy) return ok(file);
    if (!(error instanceof WarehouseUnusable))
      return warning(`${file} was not checked: ${messageOf(error)}.`, 'Run the same command again.');
    const [, text = messageOf(error), mend = 'Load into another file.'] =
      /^(.+?): ((?:move|update|load|change|name|free|undo|check) .+)$/s.exec(messageOf(error)) ?? [];
    return problem(`${text}.`, `${mend.charAt(0).toUpperCase()}${mend.slice(1)}.`);
  }
}

/** Loads each extension of the folder of extensions. */
export async function checkExtensions({ config }: Setup): Promise<readonly Found[]> {
  const folder = config.duckDbExtensions ?? null;
  if (folder === null) return [];
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => error);
  if (names instanceof Error)
    return [
      problem(
        `The folder of DuckDB extensions ${folder} ${names.code === 'ENOENT' ? 'does not exist' : `cannot be read (${names.code ?? names.message})`}.`,
        'Make it and put httpfs.duckdb_extension or ducklake.duckdb_extension into it, or correct or unset SEARCHFLOW_DUCKDB_EXTENSIONS.',
      ),
    ];
  const extensions = names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
  const temporary = await mkdtemp(join(tmpdir(), 'searchflow-doctor-'));
  try {
    const scratch = await openScratchDuckDb(temporary);
    try {
      const found: Found[] = [];
      for (const name of extensions) found.push(await extensionFinding(scratch.connection, name, folder));
      const missing = Object.entries(uses).filter(([name]) => !extensions.includes(name));
      return [...found, ...missing.map(([name, what]) => ok(`There is no ${name}, which only ${what} needs.`))];
    } finally {
      scratch.close();
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function extensionFinding(
  connection: Parameters<typeof loadExtension>[0],
  name: string,
  folder: string,
): Promise<Found> {
  try {
    await loadExtension(connection, name, folder, name);
    return ok(`The extension ${name} can be loaded.`);
  } catch (error) {
    const [text = '', way = ''] = messageOf(error).split(/: (?=put )/);
    return problem(`${text}.`, `It is of another version or machine, or damaged: ${way.split(', and set', 1)[0]}.`);
  }
}
