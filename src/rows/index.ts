export { csvFilesReader, csvReader } from './csv/csv-reader.js';
export { MAX_RECORD } from './csv/csv-record.js';
export { CsvError, InputUnsteady, quoted } from './csv-error.js';
export { nameColumns, otherColumns, whyOtherColumns } from './header.js';
export { doubleText } from './json/json-column.js';
export { jsonReader } from './json/json-reader.js';
export type { OpenedTable, RowColumn, RowReader, RowRecord, RowUnit } from './row-reader.js';
export type { SliceSizes } from './slice-writer.js';
export { ioError, type RowSource } from './source.js';
export {
  cutRows,
  forgetInManifest,
  forgetInSlice,
  readSlice,
  readStage,
  readUnits,
  type StagedBadRow,
  type StageManifest,
  sliceFile,
  type UrlCells,
} from './stage-manifest.js';
export { type StageOptions, stageRows, wholeTexts } from './stage-rows.js';
export { rendering, templateOf, type UnitCheck, type UnitSource } from './unit-source.js';
export { urlColumnNames } from './url-column.js';
