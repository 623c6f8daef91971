import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { setMemory } from '../shared/scratch-duckdb.js';
import { readManifest, type TargetFiles } from './folder-files.js';
import { MANIFEST } from './manifest.js';
import type { S3Place } from './place-of.js';

/** Memory in MB beside the file that is uploaded. */
const BASE_MB = 256;
/** Copies of a file in memory during its upload. */
const COPIES = 4;

/** Sets region and endpoint. Keys come from the variables of AWS, which the extension reads. */
export async function setS3(connection: DuckDBConnection, { settings }: S3Place): Promise<void> {
  for (const [name, value] of settings) await connection.run(`SET ${name} = ${literal(value)}`);
}

export async function s3Files(connection: DuckDBConnection, place: S3Place): Promise<TargetFiles> {
  const { bucket, url } = place;
  await setS3(connection, place);
  /** The manifest as it was read last. */
  let known: string | null = null;
  const urlOf = (path: string) => `${url}/${path}`;
  const first = async (sql: string): Promise<unknown> => {
    try {
      return (await connection.runAndReadAll(sql)).getRows()[0]?.[0] ?? null;
    } catch (error) {
      throw s3Error(error, bucket, url);
    }
  };
  const files: TargetFiles = {
    ...{ shown: url, is: 'prefix' },
    // A list also finds out whether the bucket exists.
    async paths() {
      known = null;
      const listed = await first(`SELECT list(file) FROM glob(${literal(`${plainPath(url)}/**`)})`);
      const paths = listed === null ? [] : (listed as { items: readonly string[] }).items;
      return paths.map((path) => path.slice(url.length + 1));
    },
    async manifest() {
      known = String(await first(`SELECT content FROM read_text(${literal(plainPath(urlOf(MANIFEST)))})`));
      return known;
    },
    open: async (path) => urlOf(path),
    async size(path) {
      const found = await first(
        `SELECT CASE WHEN count(*) > 0 THEN (SELECT size FROM read_blob(${literal(plainPath(urlOf(path)))})) END
         FROM glob(${literal(plainPath(urlOf(path)))})`,
      ).catch((error: unknown) => {
        if (/404/.test(String((error as Error).cause ?? error))) return null;
        throw error;
      });
      return found === null ? null : Number(found);
    },
    async put(draft, path) {
      const bytes = Number(await first(`SELECT size FROM read_blob(${literal(plainPath(draft))})`));
      await setMemory(connection, BASE_MB + Math.ceil((bytes / 1_048_576) * COPIES));
      await first(
        `COPY (SELECT content FROM read_blob(${literal(plainPath(draft))})) TO ${literal(urlOf(path))} (FORMAT blob)`,
      );
    },
    async putManifest(content) {
      const before = known;
      // Another manifest than at the beginning of the publish.
      if ((await readManifest(files)) !== before)
        throw new WarehouseBusy(
          'target-in-use',
          `Another publish has written to ${url} meanwhile: publish again`,
          null,
        );
      await first(`COPY (SELECT encode(${literal(content)})) TO ${literal(urlOf(MANIFEST))} (FORMAT blob)`);
    },
    // DuckDB cannot remove objects.
    clean: async () => undefined,
  };
  return files;
}

function s3Error(error: unknown, bucket: string, url: string): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  const say = (sentence: string) => new WarehouseUnusable('publish-target-unreachable', sentence, { cause: error });
  if (/\b404\b|NoSuchBucket/.test(message))
    return say(`The bucket ${bucket} of ${url} was not found: create it, or correct its name, region or endpoint`);
  if (/\b40[013]\b|Forbidden|AccessDenied|InvalidAccessKey/.test(message))
    return say(
      `S3 refuses access to ${url}: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION`,
    );
  if (/Could not (connect|establish|resolve)|IO Error|HTTP Error/i.test(message))
    return say(`S3 cannot be reached for ${url}: check the network, and region and endpoint of the address`);
  return error;
}
