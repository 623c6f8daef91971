import { createHash } from 'node:crypto';
import { Liquid } from 'liquidjs';
import { count, printable, usd } from '../text.js';

/** A cell of a table. Kinds: `number` is aligned to the right, `bad` has the colour of problems. */
export interface Cell {
  readonly text: string;
  readonly kind?: string;
}

/** A part of the page. Texts are plain texts; the page escapes them. */
export interface Section {
  readonly title: string;
  readonly lead?: string | null;
  readonly chart?: Chart | null;
  /** The colours of the chart with their meanings. */
  readonly legend?: readonly (readonly [colour: string, meaning: string])[];
  readonly table?: { readonly head: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] };
  readonly note?: string | null;
}

/** The columns of a table by their titles: the name of the field that a column shows, or its cell. */
export type Columns<T> = Readonly<Record<string, (keyof T & string) | ((thing: T) => Cell)>>;

/** A table of things. Titles of numbers stand above their numbers. */
export function table<T extends object>(things: readonly T[], columns: Columns<T>): Section['table'] {
  const rows = things.map((thing) =>
    Object.values(columns).map((of) => (typeof of === 'string' ? cellOf(of, thing[of]) : of(thing))),
  );
  const kind = (nth: number) => (rows[0]?.[nth]?.kind?.startsWith('number') ? 'number' : '');
  return { head: Object.keys(columns).map((title, nth) => ({ text: title, kind: kind(nth) })), rows };
}

/** The number of a problem: it has the colour of problems unless it is 0. */
export const alarming = (value: number): Cell => ({ text: count(value), kind: value > 0 ? 'number bad' : 'number' });

/** The cell of a field: an amount of dollars, a time, a number or a text. */
function cellOf(field: string, value: unknown): Cell {
  if (typeof value === 'number') return { text: /Dollars$/.test(field) ? usd(value) : count(value), kind: 'number' };
  const text = typeof value === 'string' ? value : '–';
  return { text: printable(/(At|upTo)$/.test(field) ? minute(text) : text, MOST) };
}

/** Most characters of a text in a cell. */
const MOST = 300;
/** `2026-11-21 06:00`, in UTC. */
export const minute = (time: string): string => time.slice(0, 16).replace('T', ' ');

export interface Page {
  readonly title: string;
  readonly subtitle: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** Sentences that the reader must not miss. */
  readonly warnings: readonly string[];
  readonly figures: readonly (readonly [name: string, value: string, more: string, isBad?: boolean])[];
  readonly sections: readonly Section[];
  readonly foot: readonly string[];
}

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

const source = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>{{ page.title }}</title>
<style>{{ style | raw }}</style>
</head>
<body>
<header>
<h1>{{ page.title }}</h1>
<p class="note">{{ page.subtitle }}</p>
<dl>{% for fact in page.facts %}<dt>{{ fact[0] }}</dt><dd>{{ fact[1] }}</dd>{% endfor %}</dl>
</header>
{% for warning in page.warnings %}<p class="warning">{{ warning }}</p>{% endfor %}
<div class="figures">
{%- for figure in page.figures %}
<div class="figure"><span>{{ figure[0] }}</span><b{% if figure[3] %} class="bad"{% endif %}>{{ figure[1] }}</b><span>{{ figure[2] }}</span></div>
{%- endfor %}
</div>
{%- for section in page.sections %}
<section>
<h2>{{ section.title }}</h2>
{% if section.lead %}<p>{{ section.lead }}</p>{% endif %}
{%- if section.chart %}
<div class="chart"><div class="y">{% for label in section.chart.y %}<span>{{ label }}</span>{% endfor %}</div>
<svg viewBox="0 0 {{ width }} {{ height }}" preserveAspectRatio="none" role="img">
{%- for bar in section.chart.bars %}<rect x="{{ bar.x }}" y="{{ bar.y }}" width="{{ bar.wide }}" height="{{ bar.high }}" fill="var(--{{ bar.colour }})"/>{% endfor -%}
</svg>
<div class="x">{% for label in section.chart.x %}<span>{{ label }}</span>{% endfor %}</div></div>
<ul class="note">
{%- for item in section.legend %}
<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="var(--{{ item[0] }})"/></svg> {{ item[1] }}</li>
{%- endfor %}
</ul>
{%- endif %}
{%- if section.table.rows.size > 0 %}
<div class="scroll"><table>
<thead><tr>{% for cell in section.table.head %}<th class="{{ cell.kind }}" scope="col">{{ cell.text }}</th>{% endfor %}</tr></thead>
<tbody>
{%- for row in section.table.rows %}
<tr>{% for cell in row %}<td class="{{ cell.kind }}">{{ cell.text }}</td>{% endfor %}</tr>
{%- endfor %}
</tbody>
</table></div>
{%- endif %}
{% if section.note %}<p class="note">{{ section.note }}</p>{% endif %}
</section>
{%- endfor %}
<footer>{% for sentence in page.foot %}<p>{{ sentence }}</p>{% endfor %}</footer>
</body>
</html>
`;

/** The page needs nothing from elsewhere and runs nothing; only its own style sheet applies. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** Returns one HTML page without script. Every text is escaped. */
export function renderPage(page: Page): string {
  const engine = new Liquid({ outputEscape: 'escape', ownPropertyOnly: true, strictFilters: true });
  return String(engine.parseAndRenderSync(source, { page, policy, style, width, height }));
}

/** Bars over time, stretched to the width of the page. Colours are variables of the page, so that they follow the light or dark scheme. */
interface Chart {
  readonly bars: readonly {
    readonly x: number;
    readonly y: number;
    readonly wide: number;
    readonly high: number;
    readonly colour: string;
  }[];
  /** Labels of the vertical axis, from top to bottom. */
  readonly y: readonly string[];
  /** Labels of the time, from left to right. */
  readonly x: readonly string[];
}

/** A range of time in steps, Unix ms. */
interface TimeRange {
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

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
const DAY_MS = 86_400_000;
const digits = (value: number) => Number(value.toFixed(2));

/** The next of 1, 2, 4, 5, 10, 20, … that is not below a value. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** Returns a chart of bars. Bars of the same time are stacked. Days are labelled as `11-21`, times as `06:00`, all in UTC. */
export function barChart(range: TimeRange, bars: readonly Bar[], format: (value: number) => string): Chart {
  const { since, until, stepMs } = range;
  const sums = new Map<number, number>();
  for (const { at, value } of bars) sums.set(at, (sums.get(at) ?? 0) + value);
  const top = niceTop(Math.max(...sums.values()));
  const xOf = (at: number) => (width * (at - since)) / Math.max(1, until - since);
  const gap = (xOf(since + stepMs) - xOf(since)) / 25;
  const below = new Map<number, number>();
  const [from, to] = until - since > 2 * DAY_MS ? [5, 10] : stepMs < 60_000 ? [11, 19] : [11, 16];
  return {
    bars: bars.map(({ at, value, colour, until: end = at + stepMs }) => {
      const high = Math.max((height * value) / top, colour === 'bad' ? LEAST : 0);
      const under = below.get(at) ?? 0;
      below.set(at, under + high);
      const [x, y, wide] = [xOf(at) + gap, height - under - high, xOf(end) - xOf(at) - 2 * gap];
      return { x: digits(x), y: digits(y), wide: digits(wide), high: digits(high), colour };
    }),
    y: [top, top / 2, 0].map(format),
    x: [since, (since + until) / 2, until].map((at) => new Date(at).toISOString().slice(from, to)),
  };
}
