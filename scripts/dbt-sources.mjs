/** A text in YAML: a JSON text is valid there. */
const text = (value) => JSON.stringify(value);

/** Runs are older than this only if a daily schedule has missed one. */
const freshness = ['warn_after: { count: 26, period: hour }', 'error_after: { count: 50, period: hour }'];

/**
 * The text of examples/dbt/models/sources.yml: the tables and views of rows, with the descriptions of the warehouse. `relations`: see
 * `src/warehouse/rows/row-tables.ts`.
 */
export function dbtSources(relations) {
  return [
    '# `npm run generate` makes this file from the descriptions of the tables. `npm test` fails if the two differ.',
    'version: 2',
    'sources:',
    '  - name: searchflow',
    "    description: The warehouse of searchflow's jobs of rows.",
    `    database: "{{ env_var('SEARCHFLOW_DATABASE', 'searchflow') }}"`,
    `    schema: "{{ env_var('SEARCHFLOW_SCHEMA', 'main') }}"`,
    '    tables:',
    ...relations.flatMap(tableLines),
    '',
  ].join('\n');
}

function tableLines({ name, is, row, columns, key = [] }) {
  const config =
    name === 'searchflow_runs'
      ? [
          '        config:',
          '          loaded_at_field: ended_at',
          '          freshness:',
          ...freshness.map((line) => `            ${line}`),
        ]
      : [];
  return [
    `      - name: ${name}`,
    `        description: ${text(`${is} Each row: ${row}.`)}`,
    ...config,
    '        columns:',
    ...columns.flatMap((column) => [
      `          - name: ${column.name}`,
      `            description: ${text(column.is)}`,
      ...(key.length === 1 && key[0] === column.name ? ['            data_tests: [unique, not_null]'] : []),
    ]),
  ];
}
