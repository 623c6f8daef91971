export { CsvError, InputUnsteady, quoted } from './csv-error.js';
export { csvFilesReader, csvReader } from './csv-reader.js';
export { MAX_RECORD, nameColumns, otherColumns, whyOtherColumns } from './header.js';
export { doubleText } from './json-column.js';
export { jsonReader } from './json-reader.js';
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
