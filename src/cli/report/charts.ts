import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';

/** A chart as SVG for a phone and for a desk; the page shows the one that fits. Both are safe to insert: all texts are escaped. */
export interface Chart {
  readonly narrow: string;
  readonly wide: string;
}

/** Colours come from the variables of the page, so that a chart follows the light or dark scheme. */
const ink = {
  main: 'var(--series-1)',
  soft: 'var(--series-soft)',
  good: 'var(--good)',
  bad: 'var(--bad)',
} as const;
const series = [1, 2, 3, 4, 5, 6].map((nth) => `var(--series-${nth})`);

const widths = { narrow: 340, wide: 840 } as const;

interface Frame {
  readonly height?: number;
  readonly left?: number;
}

function draw(
  options: (width: keyof typeof widths) => Plot.PlotOptions,
  { height = 220, left = 52 }: Frame = {},
): Chart {
  const render = (name: keyof typeof widths) => {
    const { document } = parseHTML('<html><body></body></html>');
    const chart = Plot.plot({
      ...{ document, className: 'chart', style: { fontSize: '11px' } },
      ...{ width: widths[name], height: name === 'narrow' ? Math.min(height, 200) : height, marginLeft: left },
      ...options(name),
    });
    // The page allows only its own style sheet.
    for (const style of chart.querySelectorAll('style')) style.remove();
    for (const styled of [chart, ...chart.querySelectorAll('[style]')]) styled.removeAttribute('style');
    chart.setAttribute('role', 'img');
    return chart.outerHTML;
  };
  return { narrow: render('narrow'), wide: render('wide') };
}

/** Steps of time, each with its end, for bars that have the width of their time. */
export interface TimeRange {
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

const DAY_MS = 86_400_000;

/** Days as `11-21`, times of a day as `06:00` or `06:00:30`, all in UTC. */
const timeAxis = ({ since, until, stepMs }: TimeRange, width: keyof typeof widths) => ({
  ...{ type: 'utc' as const, domain: [new Date(since), new Date(until)], label: null },
  ticks: width === 'narrow' ? 3 : 6,
  tickFormat: (time: Date) => {
    const text = time.toISOString();
    if (until - since > 2 * DAY_MS) return text.slice(5, 10);
    return stepMs < 60_000 ? text.slice(11, 19) : text.slice(11, 16);
  },
});
const barIn = ({ stepMs }: TimeRange, at: number) => ({ x1: new Date(at), x2: new Date(at + stepMs) });

/** Rows that are loaded, over time: all rows, and the failed ones among them. */
export function progressChart(
  range: TimeRange,
  loads: readonly { readonly at: number; readonly rows: number; readonly failed: number }[],
): Chart {
  let [rows, failed] = [0, 0];
  const points = [{ at: new Date(range.since), rows, failed }];
  for (const load of loads) {
    rows += load.rows;
    failed += load.failed;
    points.push({ at: new Date(load.at + range.stepMs), rows, failed });
  }
  const until = Math.max(range.until, ...loads.map(({ at }) => at + range.stepMs));
  return draw((width) => ({
    x: timeAxis({ ...range, until }, width),
    y: { grid: true, label: 'rows', tickFormat: 's', nice: true },
    marks: [
      Plot.areaY(points, { x: 'at', y: 'rows', fill: ink.soft }),
      Plot.lineY(points, { x: 'at', y: 'rows', stroke: ink.main, strokeWidth: 2 }),
      ...(failed > 0 ? [Plot.lineY(points, { x: 'at', y: 'failed', stroke: ink.bad, strokeWidth: 2 })] : []),
      Plot.ruleY([0]),
    ],
  }));
}

/** Bars that end at a value, with the longest first: the label, the value and whether it is good. */
export function barChart(
  bars: readonly { readonly label: string; readonly value: number; readonly kind: 'good' | 'bad' | 'main' }[],
  format: (value: number) => string,
): Chart {
  const most = Math.max(...bars.map(({ value }) => value), 0);
  return draw(
    (width) => ({
      ...{
        marginLeft: width === 'narrow' ? 124 : 200,
        marginRight: width === 'narrow' ? 56 : 76,
        marginTop: 4,
        marginBottom: 4,
      },
      height: 12 + bars.length * 26,
      x: { axis: null, domain: [0, most || 1] },
      y: {
        label: null,
        domain: bars.map((_, nth) => nth),
        tickFormat: (nth: number) => cut(bars[nth]?.label ?? '', width === 'narrow' ? 16 : 30),
        tickSize: 0,
      },
      marks: [
        Plot.barX(bars, {
          x: 'value',
          y: (_bar, nth) => nth,
          fill: (bar) => ink[bar.kind as keyof typeof ink],
          inset: 3,
        }),
        Plot.text(bars, {
          x: 'value',
          y: (_bar, nth) => nth,
          text: (bar) => format(bar.value),
          textAnchor: 'start',
          dx: 6,
        }),
      ],
    }),
    { height: Number.POSITIVE_INFINITY },
  );
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Dollars by day, one colour for each operation, with a line for the cap of a day. */
export function moneyChart(
  range: TimeRange,
  days: readonly { readonly at: number; readonly operation: string; readonly dollars: number }[],
  operations: readonly string[],
  cap: number | null,
): Chart {
  const colour = (operation: string) => series[operations.indexOf(operation) % series.length];
  const most = Math.max(...[...groupSums(days).values()], 0);
  // A cap far above the bars would make them invisible.
  const shown = cap !== null && cap <= 4 * most ? cap : null;
  return draw((width) => ({
    x: timeAxis(range, width),
    y: { grid: true, label: 'dollars', nice: true, ticks: 5 },
    marks: [
      Plot.rectY(
        days.map((day) => ({ ...day, ...barIn(range, day.at) })),
        Plot.stackY(
          { order: operations as string[] },
          {
            x1: 'x1',
            x2: 'x2',
            y: 'dollars',
            z: 'operation',
            fill: (day) => colour(day.operation),
            insetLeft: 1,
            insetRight: 1,
          },
        ),
      ),
      ...(shown === null ? [] : [Plot.ruleY([shown], { stroke: ink.bad, strokeDasharray: '4 3' })]),
      Plot.ruleY([0]),
    ],
  }));
}

function groupSums(days: readonly { readonly at: number; readonly dollars: number }[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { at, dollars } of days) sums.set(at, (sums.get(at) ?? 0) + dollars);
  return sums;
}

/** The use of the limit: the mean of the windows with requests as bars, the busiest window as a tick. Both are shares of the limit. */
export function useChart(
  range: TimeRange,
  steps: readonly { readonly at: number; readonly mean: number; readonly busiest: number }[],
): Chart {
  const bars = steps.map((step) => ({ ...step, ...barIn(range, step.at) }));
  return draw((width) => ({
    x: timeAxis(range, width),
    y: {
      grid: true,
      label: 'share of the limit',
      percent: false,
      tickFormat: '%',
      domain: [0, Math.max(1, ...steps.map(({ busiest }) => busiest))],
    },
    marks: [
      Plot.rectY(bars, { x1: 'x1', x2: 'x2', y: 'mean', fill: ink.main, insetLeft: 1, insetRight: 1 }),
      Plot.ruleY(bars, { x1: 'x1', x2: 'x2', y: 'busiest', stroke: 'currentColor', strokeWidth: 1.5 }),
      Plot.ruleY([1], { stroke: ink.bad, strokeDasharray: '4 3' }),
      Plot.ruleY([0]),
    ],
  }));
}

/** The mean time of an answer, with a dot for each step with 429 answers or failures. */
export function waitChart(
  range: TimeRange,
  steps: readonly { readonly at: number; readonly seconds: number; readonly problems: number }[],
): Chart {
  const bars = steps.map((step) => ({
    ...step,
    ...barIn(range, step.at),
    middle: new Date(step.at + range.stepMs / 2),
  }));
  return draw((width) => ({
    x: timeAxis(range, width),
    y: { grid: true, label: 'seconds', nice: true, zero: true },
    marks: [
      Plot.rectY(bars, { x1: 'x1', x2: 'x2', y: 'seconds', fill: ink.soft, insetLeft: 1, insetRight: 1 }),
      Plot.dot(
        bars.filter(({ problems }) => problems > 0),
        { x: 'middle', y: 'seconds', fill: ink.bad, r: 4 },
      ),
      Plot.ruleY([0]),
    ],
  }));
}
