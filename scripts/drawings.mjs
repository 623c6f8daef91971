// The drawings of docs/concepts, by the name of their file.
import { drawing, terminal } from './drawing.mjs';

const row = (y, h, list) => list.map(([x, w, text, note, kind]) => ({ x, y, w, h, text, note, kind }));

export const drawings = {
  overview: drawing({
    width: 760,
    height: 330,
    title:
      'A table is staged, bought in slices through a journal, and loaded into a warehouse, by workers under Temporal.',
    boxes: [
      { x: 15, y: 130, w: 140, h: 64, text: 'Table', note: 'CSV, Parquet,\nDuckDB, PostgreSQL' },
      { x: 195, y: 130, w: 110, h: 64, text: 'Stage', note: 'checked rows\nin slices', kind: 'durable' },
      { x: 340, y: 130, w: 120, h: 64, text: 'Worker', note: 'one activity\nfor each slice' },
      { x: 340, y: 20, w: 120, h: 56, text: 'Temporal', note: 'what is running', kind: 'durable' },
      { x: 340, y: 250, w: 120, h: 56, text: 'Journal', note: 'what is bought', kind: 'durable' },
      { x: 540, y: 130, w: 160, h: 64, text: 'Warehouse', note: 'what is loaded', kind: 'durable' },
      { x: 540, y: 20, w: 160, h: 56, text: 'Service', note: 'charges each request', kind: 'money' },
      { x: 540, y: 250, w: 160, h: 56, text: 'Exports', note: 'CSV, Parquet, S3, …' },
    ],
    arrows: [
      { from: [155, 162], to: [193, 162] },
      { from: [305, 162], to: [338, 162] },
      { from: [400, 76], to: [400, 128], text: 'tasks ', dy: 4, dx: -8, anchor: 'end' },
      { from: [440, 130], to: [538, 66], text: 'request', dy: -8, anchor: 'end' },
      { from: [400, 194], to: [400, 248], text: 'intent, answer', dy: 4, dx: -8, anchor: 'end' },
      { from: [460, 162], to: [538, 162], text: 'load' },
      { from: [620, 194], to: [620, 248] },
    ],
  }),
  job: drawing({
    width: 760,
    height: 250,
    title:
      'The rows of a job are divided into slices. Rows with the same URL share one unit. Units are bought in requests.',
    boxes: [
      { x: 20, y: 40, w: 110, h: 40, text: 'row 1' },
      { x: 20, y: 90, w: 110, h: 40, text: 'row 2' },
      { x: 20, y: 140, w: 110, h: 40, text: 'row 3' },
      { x: 20, y: 190, w: 110, h: 40, text: 'row 4' },
      { x: 240, y: 40, w: 170, h: 40, text: 'unit  a.example', kind: 'money' },
      { x: 240, y: 115, w: 170, h: 40, text: 'unit  b.example', kind: 'money' },
      { x: 240, y: 190, w: 170, h: 40, text: 'unit  c.example', kind: 'money' },
      { x: 530, y: 75, w: 200, h: 56, text: 'request', note: '/contents, up to 100 URLs', kind: 'remote' },
      { x: 530, y: 180, w: 200, h: 56, text: 'request', note: 'the next slice', kind: 'remote' },
    ],
    arrows: [
      { from: [130, 60], to: [238, 60] },
      { from: [130, 110], to: [238, 130] },
      { from: [130, 160], to: [238, 138], text: 'same URL', dy: 22 },
      { from: [130, 210], to: [238, 210] },
      { from: [410, 60], to: [528, 95] },
      { from: [410, 135], to: [528, 108] },
      { from: [410, 210], to: [528, 210] },
    ],
    notes: [
      { x: 75, y: 26, text: 'rows of the table', anchor: 'middle', bold: true },
      { x: 325, y: 26, text: 'units: bought once', anchor: 'middle', bold: true },
      { x: 630, y: 26, text: 'requests: charged', anchor: 'middle', bold: true },
    ],
  }),
  purchase: drawing({
    width: 760,
    height: 210,
    title:
      'The six steps of a purchase: claim, budget, turn, intent, send, land. The intent and the answer are on the disk.',
    boxes: row(60, 64, [
      [15, 105, 'claim', 'reserves\nthe unit', 'plain'],
      [140, 105, 'budget', 'fits under\nevery cap', 'money'],
      [265, 105, 'turn', 'rate limit\nof the team', 'plain'],
      [390, 105, 'intent', 'on the disk,\nthen send', 'durable'],
      [515, 105, 'send', 'one request', 'remote'],
      [640, 105, 'land', 'answer on\nthe disk', 'durable'],
    ]),
    arrows: [
      ...[120, 245, 370, 495, 620].map((x) => ({ from: [x, 92], to: [x + 18, 92] })),
      { from: [567, 126], to: [567, 160], dashed: true },
    ],
    notes: [
      { x: 567, y: 178, text: 'no answer: an unknown outcome, listed and counted', anchor: 'middle' },
      { x: 745, y: 40, text: 'never bought again', anchor: 'end', bold: true },
    ],
  }),
  landing: drawing({
    width: 760,
    height: 190,
    title:
      'An answer goes to the journal first, then into the warehouse. The body may be pruned later, the record of the purchase stays.',
    boxes: [
      { x: 20, y: 60, w: 130, h: 60, text: 'answer', note: 'bytes as they came', kind: 'remote' },
      { x: 210, y: 60, w: 150, h: 60, text: 'journal', note: 'record and body', kind: 'durable' },
      { x: 430, y: 60, w: 150, h: 60, text: 'warehouse', note: 'rows and ledger line', kind: 'durable' },
      { x: 640, y: 60, w: 100, h: 60, text: 'view', note: 'your columns' },
    ],
    arrows: [
      { from: [150, 90], to: [208, 90], text: 'land' },
      { from: [360, 90], to: [428, 90], text: 'load' },
      { from: [580, 90], to: [638, 90] },
    ],
    notes: [
      { x: 285, y: 150, text: 'the body may go after 7 days,', anchor: 'middle' },
      { x: 285, y: 166, text: 'the record is kept forever', anchor: 'middle' },
      { x: 505, y: 150, text: 'one transaction', anchor: 'middle' },
    ],
  }),
  'unknown-outcome': drawing({
    width: 760,
    height: 200,
    title: 'A request is sent, and the connection is cut before the answer. The service may have charged it.',
    boxes: [
      { x: 20, y: 60, w: 130, h: 56, text: 'intent', note: 'on the disk', kind: 'durable' },
      { x: 230, y: 60, w: 130, h: 56, text: 'request', note: 'sent', kind: 'remote' },
      { x: 440, y: 20, w: 130, h: 56, text: 'charged?', note: 'cannot be known', kind: 'money' },
      { x: 440, y: 110, w: 130, h: 56, text: 'answer', note: 'lost on the way', kind: 'bad' },
      { x: 630, y: 60, w: 115, h: 56, text: 'listed', note: 'at its estimate', kind: 'durable' },
    ],
    arrows: [
      { from: [150, 88], to: [228, 88] },
      { from: [360, 80], to: [438, 55] },
      { from: [360, 98], to: [438, 128], dashed: true },
      { from: [570, 55], to: [628, 78] },
      { from: [570, 134], to: [628, 102] },
    ],
  }),
  walk: drawing({
    width: 760,
    height: 210,
    title:
      'A walk reads a range of time in windows. Each window has a cursor. The watermark moves when all windows before it are read.',
    boxes: row(70, 50, [
      [20, 130, 'window', 'read', 'durable'],
      [158, 130, 'window', 'read', 'durable'],
      [296, 130, 'window', 'cursor at page 7', 'money'],
      [434, 130, 'window', 'read', 'durable'],
      [572, 130, 'window', 'not begun', 'plain'],
    ]),
    arrows: [
      { from: [20, 160], to: [735, 160], text: 'time of the events', dy: 22 },
      { from: [290, 40], to: [290, 66] },
    ],
    notes: [
      { x: 290, y: 32, text: 'watermark: all events before it are loaded', anchor: 'middle', bold: true },
      { x: 725, y: 60, text: 'now − 1 min', anchor: 'end' },
    ],
  }),
  limit: drawing({
    width: 760,
    height: 220,
    title: 'All workers of a team take turns from one bucket. A 429 with Retry-After stops all of them.',
    boxes: [
      { x: 20, y: 20, w: 120, h: 44, text: 'worker 1' },
      { x: 20, y: 85, w: 120, h: 44, text: 'worker 2' },
      { x: 20, y: 150, w: 120, h: 44, text: 'worker 3' },
      {
        x: 270,
        y: 70,
        w: 190,
        h: 74,
        text: 'bucket of the team',
        note: 'times of the last requests:\nat most 10 in any second',
        kind: 'durable',
      },
      { x: 580, y: 70, w: 150, h: 74, text: 'service', note: '10 requests a second', kind: 'remote' },
    ],
    arrows: [
      { from: [140, 42], to: [268, 90], text: 'turn?' },
      { from: [140, 107], to: [268, 107] },
      { from: [140, 172], to: [268, 124] },
      { from: [460, 96], to: [578, 96], text: 'request' },
      { from: [578, 122], to: [462, 122], text: '429, Retry-After: 3', dy: 18, dashed: true },
    ],
    notes: [{ x: 365, y: 172, text: 'a block stops every worker, then they return one by one', anchor: 'middle' }],
  }),
  'three-records': drawing({
    width: 760,
    height: 190,
    title:
      'Three records that are never mixed: Temporal says what is running, the journal what is bought, the ledger what is loaded.',
    boxes: [
      { x: 20, y: 30, w: 220, h: 70, text: 'Temporal', note: 'what is running', kind: 'remote' },
      { x: 270, y: 30, w: 220, h: 70, text: 'Journal', note: 'what is bought', kind: 'money' },
      { x: 520, y: 30, w: 220, h: 70, text: 'Ledger of the warehouse', note: 'what is loaded', kind: 'durable' },
    ],
    notes: [
      { x: 130, y: 128, text: 'lost: start the job again;', anchor: 'middle' },
      { x: 130, y: 146, text: 'the journal has the answers', anchor: 'middle' },
      { x: 380, y: 128, text: 'lost: answers are taken', anchor: 'middle' },
      { x: 380, y: 146, text: 'from the warehouse', anchor: 'middle' },
      { x: 630, y: 128, text: 'lost: rows are loaded again', anchor: 'middle' },
      { x: 630, y: 146, text: 'from the journal', anchor: 'middle' },
    ],
  }),
  terminal: terminal({
    title: 'npm start enriches 3,470 rows on the sandbox and prints the rows by status, the cost and the bill.',
    lines: [
      '$ npm start',
      'brands: 3,470 rows, 3,357 URLs to buy in 34 requests for about $3.357; on the sandbox (no key set: …).',
      '███████████░░░░░░░░░░░░░ 46%  1,621/3,470 rows  373 rows/s  5 s left  $1.507  41 failed',
      'Done: 3,470 rows of brands in 11 s.',
      '      3,335  success',
      '        135  error',
      '           57  CRAWL_NOT_FOUND',
      '           33  CRAWL_HTTP_403',
      '           22  CRAWL_TIMEOUT',
      '           12  SOURCE_NOT_AVAILABLE',
      '           11  CRAWL_UNKNOWN_ERROR',
      'Tried once more: 33 failed units, 0 succeeded.',
      '33 failed rows may succeed later; … To buy them again: npm run -s searchflow -- retry brands',
      'Bought with 51 requests for $3.26 (estimate of these requests $3.39).',
      "The sandbox's bill matches: $3.26, 51 requests.",
      'Written: out/brands.duckdb (view brands), out/brands.csv',
    ],
  }),
};
