import { identifier } from '../duckdb/quote.js';
import { resultColumns, viewColumns } from '../view-columns.js';

/** How a result column is made of the columns of `row_store`, where it is none of them. JSON is text here: every reader knows that. */
const made: Readonly<Record<string, string>> = {
  text: `facts[1]`,
  highlights: `facts[2]`,
  summary: `facts[3]`,
  response: `CAST(response AS VARCHAR)`,
  cost_dollars: `cost_micros / 1000000`,
};

/** The rows of `source` (see `JobRows.part`) in their order, with the columns of the job's view, exactly as they are. */
export function parquetQuery(columns: readonly string[], source: string): string {
  const { own, results } = viewColumns(columns);
  const shown = [
    ...own.map((name, index) => `input[${index + 1}] AS ${identifier(name)}`),
    ...results.map((name, index) => {
      const column = resultColumns[index] as string;
      return `${made[column] ?? column} AS ${identifier(name)}`;
    }),
  ];
  return `SELECT ${shown.join(', ')} FROM (
      SELECT *, json_extract_string(response, ['$.text', '$.highlights', '$.summary']) AS facts FROM (${source})
      ORDER BY row_number)`;
}
