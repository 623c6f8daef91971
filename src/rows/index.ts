export { CsvError } from './csv-error.js';
export { urlColumnNames } from './header.js';
export { MANY_ROWS, type SliceSizes } from './slice-writer.js';
export type { RowSource } from './source.js';
export { type StageOptions, stageCsv } from './stage-csv.js';
export {
  cutRows,
  readSlice,
  readStage,
  type StagedBadRow,
  type StageManifest,
  sliceFile,
  type UrlCells,
} from './stage-manifest.js';
export type { UnitCheck, UnitSource } from './unit-source.js';
