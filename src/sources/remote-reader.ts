import { basename, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { FileFormat } from '../core/choices.js';
import { isPattern, pathOfAddress, serverOfAddress, whyNoAddress } from '../core/rows/source-fields.js';
import { WarehouseUnusable } from '../core/rows/warehouse-errors.js';
import { makeFolder } from '../files/make-folder.js';
import { CsvError, InputUnsteady, type RowReader } from '../rows/index.js';
import { literal, loadExtension, openScratchDuckDb, plainPath, s3Place, setMemory, setS3 } from '../warehouse/index.js';
import { duckDbFolder, duckDbReader, firstLine, resourceError, withLimit } from './duckdb-reader.js';
import { formatOfName } from './file-format.js';
import type { NamedFiles } from './named-files.js';
import { type OneServer, openOneServer } from './one-server.js';
import { parquetQuery } from './parquet-reader.js';
import type { SourceRequest } from './source-request.js';

/** Most bytes of a file that is copied before it is read. DuckDB holds such a file in memory. */
export const MOST_COPIED = 64 * 1_048_576;
/** Memory in MB beside a file that is copied, and copies of the file in memory. */
const BASE_MB = 256;
const COPIES = 4;

/** The format of an address. Throws `CsvError` if its name tells none. */
export function formatOfAddress(address: string, asked: FileFormat | undefined): FileFormat {
  const format = asked ?? formatOfName(pathOfAddress(address));
  if (format === null)
    throw new CsvError(
      'source-options-wrong',
      `The name of ${shown(address)} tells no format: pass --format csv, jsonl or parquet`,
    );
  return format;
}

/** Returns a reader of Parquet files at an address. DuckDB reads only the parts that it needs. */
export function remoteParquetReader(request: SourceRequest): RowReader {
  let proxy: OneServer | null = null;
  const explain = (error: unknown) => explained(error, request.input, proxy);
  return duckDbReader(request, {
    prepare: async (connection) => {
      proxy = await connect(connection, request);
      const files = await filesAt(connection, request.input);
      return await parquetQuery(connection, new Map(files.map((file) => [escaped(file), shown(file)])), explain);
    },
    explain,
    bytes: null,
  });
}

/** Copies the files at an address into the folder of the request. */
export async function copyFiles(request: SourceRequest): Promise<NamedFiles> {
  const { input } = request;
  const folder = duckDbFolder(request);
  makeFolder(folder);
  const { connection, close } = await openScratchDuckDb(folder);
  const bounded = <T>(work: Promise<T>) => withLimit(request, work);
  const names = new Map<string, string>();
  let proxy: OneServer | null = null;
  try {
    proxy = await connect(connection, request);
    for (const [index, file] of (await bounded(filesAt(connection, input))).entries()) {
      const found = await bounded(connection.runAndReadAll(`SELECT size FROM read_blob(${literal(escaped(file))})`));
      const size = Number(found.getRows()[0]?.[0] ?? 0);
      if (size > MOST_COPIED)
        throw new CsvError(
          'input-too-large',
          `${shown(file)} has ${Math.ceil(size / 1_048_576)} MiB, and ${MOST_COPIED / 1_048_576} MiB is the limit for CSV and JSON Lines at an address: download it first, or use Parquet`,
        );
      await setMemory(connection, BASE_MB + Math.ceil((size / 1_048_576) * COPIES));
      // DuckDB would compress a file whose name ends with .gz again. Readers detect gzip by content.
      const name = basename(pathOfAddress(file)).replace(/\.gz$/i, '');
      const copy = join(folder, `${String(index).padStart(5, '0')}-${name}`);
      await bounded(
        connection.run(
          `COPY (SELECT content FROM read_blob(${literal(escaped(file))})) TO ${literal(copy)} (FORMAT blob)`,
        ),
      );
      names.set(copy, shown(file));
    }
    return { names, close: async () => undefined };
  } catch (error) {
    throw explained(error, input, proxy);
  } finally {
    proxy?.close();
    close();
  }
}

/** Connects DuckDB with the server of the address, and with no other. The proxy ends with the process. */
async function connect(
  connection: DuckDBConnection,
  { input: address, extensions = null }: SourceRequest,
): Promise<OneServer> {
  const why = whyNoAddress(address);
  if (why !== null)
    throw new CsvError(
      'source-options-wrong',
      `${why}: download the file first, or set the variables of AWS for s3://`,
    );
  const scheme = `${address.split('://', 1)[0]}://`;
  await loadExtension(connection, 'httpfs', extensions, `Reading ${scheme}`);
  const own = serverOfAddress(address) ?? '';
  const isAws = own.startsWith('s3.amazonaws.com:');
  const proxy = await openOneServer(
    (server) => server === own || (isS3(address) && (server.endsWith(`.${own}`) || (isAws && aws.test(server)))),
  );
  await connection.run(`SET http_proxy = ${literal(proxy.address)}`);
  if (isS3(address)) await setS3(connection, s3Place(address, '--from: '));
  return proxy;
}

/** Servers of S3 by region, with the bucket in front or without. */
const aws = /(^|\.)s3([.-][a-z0-9-]+)*\.amazonaws\.com(\.cn)?:443$/;

/** The files of an address: of S3 those of a pattern or below a prefix with a slash at its end. */
async function filesAt(connection: DuckDBConnection, address: string): Promise<readonly string[]> {
  if (!isS3(address)) return [address];
  const { url } = s3Place(address, '--from: ');
  const isPrefix = pathOfAddress(address).endsWith('/');
  if (!isPrefix && !isPattern(url)) return [url];
  const found = await connection.runAndReadAll(
    `SELECT file FROM glob(${literal(isPrefix ? `${url}/*` : url)}) ORDER BY file`,
  );
  const files = found.getRows().map(([file]) => String(file));
  if (files.length === 0) throw new CsvError('input-missing', `No file matches ${shown(address)}`);
  return files;
}

const isS3 = (address: string) => /^s3:/i.test(address);
/** A pattern was already resolved, so all wildcards are parts of names. In an address of HTTP, `?` begins the parameters. */
const escaped = (file: string) => (isS3(file) ? plainPath(file) : file);
const shown = pathOfAddress;

function explained(error: unknown, address: string, proxy: OneServer | null): unknown {
  if (error instanceof CsvError) return error;
  if (!(error instanceof Error)) return error;
  // Errors of the extension and of the parameters are sentences for a person.
  if (error instanceof WarehouseUnusable) return new CsvError(error.errorCode, error.message);
  const resource = resourceError(error);
  if (resource !== null) return resource;
  const { message } = error;
  const at = shown(address);
  const other = proxy?.other() ?? null;
  if (other !== null)
    return new CsvError(
      'source-access-refused',
      other === serverOfAddress(address)
        ? `${at} is on a metadata address, which is never read: download the file first`
        : `${at} leads to another server, ${other}: name an address there, or download the file first`,
    );
  if (/\b404\b|NoSuchBucket|NoSuchKey/.test(message))
    return new CsvError(
      'input-missing',
      `${at} was not found: correct its ${isS3(address) ? 'bucket, name, region or endpoint' : 'address'}`,
    );
  if (/\b40[0137]\b|Forbidden|AccessDenied|InvalidAccessKey/.test(message))
    return new CsvError(
      'source-access-refused',
      isS3(address)
        ? `S3 refuses access to ${at}: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION`
        : `The server refuses access to ${at}: download the file first`,
    );
  if (
    /Could not (connect|establish|resolve)|Connection|IO Error|HTTP Error/i.test(message) &&
    !/Parquet|magic bytes/i.test(message)
  )
    return new InputUnsteady(
      'source-unreachable',
      `${at} cannot be reached or read: check the network and the address (${firstLine(error)})`,
    );
  return new CsvError('input-damaged', `${at} cannot be read (${firstLine(error)})`);
}
