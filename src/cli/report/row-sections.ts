import type { Report } from '../../core/report/report.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { alarming, counted, names, number, numbers, seconds, share, text } from './cells.js';
import { barChart, progressChart } from './charts.js';
import type { Section } from './page.js';

export function progressOf({ figures, active }: Report): Section | null {
  if (figures === null) return null;
  const total = figures.loads.reduce((sum, { rows }) => sum + rows, 0);
  return {
    title: 'Progress',
    lead: total === 0 ? 'No row is loaded yet.' : `${some(total, 'row')} of the current input loaded.`,
    chart: total === 0 ? null : progressChart(active, figures.loads),
    legend: [
      { mark: 'series-1', text: 'rows loaded' },
      { mark: 'bad', text: 'of these failed' },
    ],
    note: 'A row counts when its latest answer was loaded; a refreshed row moves to the later time.',
  };
}

const MOST_TAGS = 25;
export function statusOf({ figures, job }: Report): Section | null {
  if (figures === null) return null;
  const { tags, summary } = figures;
  const all = tags.reduce((sum, { rows }) => sum + rows, 0);
  const label = (status: string, tag: string | null) => printable(tag === null ? status : tag, 80);
  const shown = tags.slice(0, MOST_TAGS);
  return {
    title: 'Rows by status and error',
    chart:
      shown.length === 0
        ? null
        : barChart(
            shown.slice(0, 12).map(({ status, tag, rows }) => ({
              ...{ label: label(status, tag), value: rows },
              kind: status === 'success' ? ('good' as const) : ('bad' as const),
            })),
            count,
          ),
    head: [...names('status', 'error'), ...numbers('rows', 'share')],
    rows: shown.map(({ status, tag, rows }) => [text(status), text(tag), counted(rows), number(share(rows, all))]),
    note: [
      ...(tags.length > MOST_TAGS ? [`${some(tags.length - MOST_TAGS, 'further error')} not shown.`] : []),
      ...((summary.quarantined ?? 0) > 0
        ? [`${some(summary.quarantined ?? 0, 'success', 'successes')} in quarantine.`]
        : []),
      ...((summary.discarded ?? 0) > 0
        ? [`${some(summary.discarded ?? 0, 'failed row')} of these discarded or forgotten by a person.`]
        : []),
      ...(summary.missing > 0
        ? [`${some(summary.missing, 'row')} of ${count(job?.rows?.rows ?? summary.rows)} not loaded yet.`]
        : []),
    ].join(' '),
  };
}

export function hostsOf({ figures }: Report): Section | null {
  if (figures === null || figures.hosts.length === 0) return null;
  const { hosts } = figures;
  return {
    title: 'Slowest hosts',
    chart: isVaried(hosts)
      ? barChart(
          hosts.map(({ host, seconds: value }) => ({ label: printable(host, 120), value, kind: 'main' as const })),
          seconds,
        )
      : null,
    head: [...names('host'), ...numbers('mean', 'slowest', 'requests', 'rows', 'failed')],
    rows: hosts.map((one) => [
      ...[text(one.host), number(seconds(one.seconds)), number(seconds(one.slowest)), counted(one.requests)],
      ...[counted(one.rows), alarming(one.failed)],
    ]),
    note: 'Derived: the time of a request counts for each host of its rows, because one request has many pages. A host is slow if its rows are in slow requests. The newest 20,000 requests count.',
  };
}

/** Whether bars would have different lengths. */
const isVaried = (hosts: readonly { readonly seconds: number }[]): boolean =>
  (hosts[0]?.seconds ?? 0) > 1.05 * (hosts.at(-1)?.seconds ?? 0);

export function nullsOf({ figures, job }: Report): Section | null {
  if (figures === null || figures.nulls.length === 0 || figures.viewRows === 0) return null;
  const { nulls, viewRows } = figures;
  const sorted = [...nulls].sort((a, b) => b.nulls - a.nulls);
  return {
    title: 'Null rate of columns',
    head: [...names('column'), ...numbers('NULL', 'share')],
    rows: sorted.map(({ column, nulls: missing }) => [
      text(column),
      counted(missing),
      number(share(missing, viewRows)),
    ]),
    note: `Of ${some(viewRows, 'row')} in the view ${printable(job?.name ?? '', 60)}.`,
  };
}

export function misfitsOf({ figures }: Report): Section | null {
  const misfits = Object.entries(figures?.summary.misfits ?? {});
  if (figures === null || misfits.length === 0) return null;
  return {
    title: 'Values that do not fit their column',
    head: [...names('column'), ...numbers('values')],
    rows: misfits.map(([column, values]) => [text(column), alarming(values)]),
    note: 'The view of the job has NULL in their place; the table misfits has the values.',
  };
}
