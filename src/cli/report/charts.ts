/**
 * A chart: an SVG of shapes alone, which is stretched to the width of the page, and the texts beside and below it. The texts are plain texts;
 * the page escapes them. Colours are variables of the page, so that a chart follows the light or dark scheme.
 */
export interface Chart {
  readonly svg: string;
  /** Labels of the vertical axis, from top to bottom; empty: no axis. */
  readonly y: readonly string[];
  /** Labels of the time, from left to right. */
  readonly x: readonly string[];
  readonly isStrip?: boolean;
}

/** A range of time in steps, Unix ms. */
export interface TimeRange {
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

/** The value at the start of a step of time, with the name of its colour. */
export interface Mark {
  readonly at: number;
  readonly value: number;
  readonly colour: string;
}

const [width, height] = [1000, 200];
const DAY_MS = 86_400_000;
const digits = (value: number) => Number(value.toFixed(2));
const rect = (x: number, y: number, wide: number, high: number, colour: string, more = '') =>
  `<rect x="${digits(x)}" y="${digits(y)}" width="${digits(wide)}" height="${digits(high)}" fill="var(--${colour})"${more}/>`;
const stroke = (path: string, colour: string, more = '') =>
  `<path d="${path}" fill="none" stroke="var(--${colour})" vector-effect="non-scaling-stroke"${more}/>`;
const xOf = ({ since, until }: TimeRange, at: number) => (width * (at - since)) / Math.max(1, until - since);

/** Start, middle and end of a range: days as `11-21`, times as `06:00` or `06:00:30`, all in UTC. */
function timesOf({ since, until, stepMs }: TimeRange): readonly string[] {
  const [from, to] = until - since > 2 * DAY_MS ? [5, 10] : stepMs < 60_000 ? [11, 19] : [11, 16];
  return [since, (since + until) / 2, until].map((at) => new Date(at).toISOString().slice(from, to));
}

/** The next of 1, 2, 4, 5, 10, 20, … that is not below a value. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10) * power;
}

function drawn(range: TimeRange, top: number, shapes: readonly string[], format: (value: number) => string): Chart {
  const grid = [0, 0.5, 1].map((part) => stroke(`M0 ${height * part}H${width}`, 'line'));
  return { svg: svg(height, [...grid, ...shapes]), y: [top, top / 2, 0].map(format), x: timesOf(range) };
}

const svg = (high: number, shapes: readonly string[]): string =>
  `<svg viewBox="0 0 ${width} ${high}" preserveAspectRatio="none" role="img">${shapes.join('')}</svg>`;

/** Bars of one step of time each. Values of the same time are stacked. `cap` is a dashed line; `alarms` are times with a mark below. */
export function barChart(
  range: TimeRange,
  bars: readonly Mark[],
  format: (value: number) => string,
  { cap = null, alarms = [] }: { readonly cap?: number | null; readonly alarms?: readonly number[] } = {},
): Chart {
  const sums = new Map<number, number>();
  for (const { at, value } of bars) sums.set(at, (sums.get(at) ?? 0) + value);
  const top = niceTop(Math.max(...sums.values(), cap ?? 0));
  const wide = xOf(range, range.since + range.stepMs);
  const below = new Map<number, number>();
  const shapes = bars.map(({ at, value, colour }) => {
    const high = (height * value) / top;
    const under = below.get(at) ?? 0;
    below.set(at, under + high);
    return rect(xOf(range, at) + wide * 0.04, height - under - high, wide * 0.92, high, colour);
  });
  const marks = alarms.map((at) => rect(xOf(range, at) + wide * 0.3, height - 6, wide * 0.4, 6, 'bad'));
  const limit =
    cap === null ? [] : [stroke(`M0 ${digits(height * (1 - cap / top))}H${width}`, 'bad', ' stroke-dasharray="4 3"')];
  return drawn(range, top, [...shapes, ...marks, ...limit], format);
}

/** Lines through points in order of time, the first one with its area. */
export function lineChart(
  range: TimeRange,
  lines: readonly { readonly colour: string; readonly points: readonly Omit<Mark, 'colour'>[] }[],
  format: (value: number) => string,
): Chart {
  const top = niceTop(Math.max(...lines.flatMap(({ points }) => points.map(({ value }) => value))));
  const shapes = lines.flatMap(({ colour, points }, nth) => {
    const path = points.map(({ at, value }) => `${digits(xOf(range, at))} ${digits(height * (1 - value / top))}`);
    const area = `<path d="M0 ${height}L${path.join('L')}V${height}Z" fill="var(--series-soft)"/>`;
    return [...(nth === 0 ? [area] : []), stroke(`M${path.join('L')}`, colour, ' stroke-width="2"')];
  });
  return drawn(range, top, shapes, format);
}

/** A strip of steps, each as dark as its share of 1; steps above 1 have the colour of problems. */
export function heatStrip(range: TimeRange, steps: readonly Omit<Mark, 'colour'>[]): Chart {
  const wide = xOf(range, range.since + range.stepMs);
  const shapes = steps.map(({ at, value }) =>
    rect(
      xOf(range, at),
      0,
      wide,
      40,
      value > 1 ? 'bad' : 'series-1',
      ` fill-opacity="${digits(Math.max(0.05, Math.min(1, value)))}"`,
    ),
  );
  return {
    svg: svg(40, [rect(0, 0, width, 40, 'line', ' fill-opacity="0.4"'), ...shapes]),
    y: [],
    x: timesOf(range),
    isStrip: true,
  };
}

/** A bar for a cell of a table: a share of its width, from 0 to 1. */
export const cellBar = (share: number, colour: string): string =>
  `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">${rect(0, 0, 100 * Math.max(0, Math.min(1, share)), 8, colour)}</svg>`;
