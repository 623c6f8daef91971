import { createHash } from 'node:crypto';
import { count, DAY_MS, dollars, printable } from '../text.js';

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | undefined | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object' && part !== null) return part.map(textOf).join('');
  return String(part ?? '').replace(/[&<>"']/g, (one) => entities[one] ?? '');
}

/** Returns a template as HTML. Every value in it is escaped, unless it is a piece of HTML. */
export const html = (template: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(String.raw({ raw: template }, ...parts.map(textOf)));

/** A cell of a table. Kinds: `number` is aligned to the right, `bad` has the colour of problems. */
export interface Cell {
  readonly text: string;
  readonly kind?: string;
}

/** The columns of a table by their titles: the name of the field that a column shows, or its cell. */
export type Columns<T> = Readonly<Record<string, (keyof T & string) | ((thing: T) => Cell)>>;

/** Returns a table of things; null without things. Titles of numbers stand above their numbers. */
export function table<T extends object>(things: readonly T[], columns: Columns<T>): Html | null {
  const rows = things.map((thing) =>
    Object.values(columns).map((of) => (typeof of === 'string' ? cellOf(of, thing[of]) : of(thing))),
  );
  const [first] = rows;
  if (first === undefined) return null;
  const kind = (nth: number) => (first[nth]?.kind?.startsWith('number') ? 'number' : '');
  const head = Object.keys(columns).map((title, nth) => html`<th class="${kind(nth)}" scope="col">${title}</th>`);
  const lines = rows.map(
    (row) => html`<tr>${row.map((cell) => html`<td class="${cell.kind}">${cell.text}</td>`)}</tr>\n`,
  );
  return html`<div class="scroll"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${lines}</tbody>
</table></div>
`;
}

/** The number of a problem: it has the colour of problems unless it is 0. */
export const alarming = (value: number): Cell => ({ text: count(value), kind: value > 0 ? 'number bad' : 'number' });

/** The cell of a field: an amount, a time, a number or a text. */
function cellOf(field: string, value: unknown): Cell {
  if (typeof value !== 'number') return { text: printable(typeof value === 'string' ? value : '–', MOST) };
  if (/(At|upTo)$/.test(field)) return { text: minute(value) };
  return { text: /Micros$/.test(field) ? dollars(value) : count(value), kind: 'number' };
}

/** Most characters of a text in a cell. */
const MOST = 300;
/** `2026-11-21 06:00`, in UTC. */
export const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');

const style = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --text: #1c2430; --muted: #5d6877; --line: #dfe3e9;
  --series-1: #2563a8; --series-2: #d9822b; --series-3: #3f9c6b; --series-4: #8a5cc2; --series-5: #b8486b; --series-6: #6b7f92;
  --series-soft: #bcd3ec; --bad: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1b2129; --text: #e6eaf0; --muted: #9aa6b5; --line: #323b47;
  --series-1: #6ea8e8; --series-2: #f0a860; --series-3: #6fc79a; --series-4: #b793e6; --series-5: #e58aa8; --series-6: #9fb0c1;
  --series-soft: #2f4d6e; --bad: #ff8a7a; } }
* { box-sizing: border-box; overflow-wrap: anywhere; }
body { max-width: 920px; margin: 0 auto; padding: 20px; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1, h2, p { margin: 0 0 8px; }
h2 { font-size: 18px; }
.note, .chart, footer, dt, th, span { color: var(--muted); font-size: 13px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; }
dd { margin: 0; }
.warning, .figure, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; margin: 0 0 12px; }
.warning { border-left: 4px solid var(--series-2); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 0 12px; }
.figure b { display: block; font-size: 22px; }
.bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); min-width: 8em; }
.number { min-width: 0; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.chart { display: grid; grid-template-columns: max-content 1fr; gap: 2px 8px; }
.chart svg { display: block; width: 100%; height: 180px; }
.y, .x { display: flex; justify-content: space-between; }
.y { flex-direction: column; text-align: right; line-height: 1; }
.x { grid-column: 2; }
`;

/** The page needs nothing from elsewhere and runs nothing; only its own style sheet applies. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'`;

export const page = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`.text;

/** A value from a time on, for a step or until another time, with the name of its colour. */
interface Bar {
  readonly at: number;
  readonly until?: number;
  readonly value: number;
  readonly colour: string;
}

const [width, height] = [1000, 200];
/** The least height of a bar with the colour of problems. */
const LEAST = 6;
const digits = (value: number) => Number(value.toFixed(2));

/** The next of 1, 2, 4, 5, 10, 20, … that is not below a value. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/**
 * Returns a chart of bars over time, stretched to the width of the page; null without bars. Bars of the same time are stacked. Days are
 * labelled as `11-21`, times as `06:00`, all in UTC. `legend`: the colours with their meanings. Colours are variables of the page, so that
 * they follow the light or dark scheme.
 */
export function barChart(
  { since, until, stepMs }: { readonly since: number; readonly until: number; readonly stepMs: number },
  bars: readonly Bar[],
  format: (value: number) => string,
  legend: readonly (readonly [colour: string, meaning: string])[],
): Html | null {
  if (bars.length === 0) return null;
  const sums = new Map<number, number>();
  for (const { at, value } of bars) sums.set(at, (sums.get(at) ?? 0) + value);
  const top = niceTop(Math.max(...sums.values()));
  const xOf = (at: number) => (width * (at - since)) / Math.max(1, until - since);
  const gap = (xOf(since + stepMs) - xOf(since)) / 25;
  const below = new Map<number, number>();
  const shapes = bars.map(({ at, value, colour, until: end = at + stepMs }) => {
    const high = Math.max((height * value) / top, colour === 'bad' ? LEAST : 0);
    const under = below.get(at) ?? 0;
    below.set(at, under + high);
    const [x, y, wide] = [xOf(at) + gap, height - under - high, xOf(end) - xOf(at) - 2 * gap];
    return html`<rect x="${digits(x)}" y="${digits(y)}" width="${digits(wide)}" height="${digits(high)}" fill="var(--${colour})"/>`;
  });
  const [from, to] = until - since > 2 * DAY_MS ? [5, 10] : stepMs < 60_000 ? [11, 19] : [11, 16];
  const labels = (texts: readonly string[]) => texts.map((text) => html`<span>${text}</span>`);
  const times = [since, (since + until) / 2, until].map((at) => new Date(at).toISOString().slice(from, to));
  const meanings = legend.map(
    ([colour, meaning]) =>
      html`<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="var(--${colour})"/></svg> ${meaning}</li>\n`,
  );
  return html`<div class="chart"><div class="y">${labels([top, top / 2, 0].map(format))}</div>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img">${shapes}</svg>
<div class="x">${labels(times)}</div></div>
<ul class="note">
${meanings}</ul>
`;
}
