import { type CsvReaderOptions, csvReader } from './csv/csv-reader.js';
import type { StageManifest } from './stage-manifest.js';
import { type StageOptions, stageRows } from './stage-rows.js';

/** Stages a CSV file, see `stageRows`. */
export function stageCsv({
  source,
  delimiter,
  encoding,
  ...options
}: Omit<StageOptions, 'reader'> & CsvReaderOptions): Promise<StageManifest> {
  return stageRows({ ...options, reader: csvReader({ source, delimiter, ...(encoding ? { encoding } : {}) }) });
}
