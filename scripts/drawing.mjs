// The drawings of the documentation as SVG, made from boxes, arrows and notes. Colours are readable on a light and on a dark page.
const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const kinds = {
  plain: ['#ffffff', '#64748b'],
  durable: ['#dcfce7', '#15803d'],
  money: ['#fef3c7', '#b45309'],
  remote: ['#e0e7ff', '#4338ca'],
  bad: ['#fee2e2', '#b91c1c'],
};

function box({ x, y, w, h, text, note = '', kind = 'plain' }) {
  const [fill, stroke] = kinds[kind];
  const lines = text.split('\n');
  const notes = note === '' ? [] : note.split('\n');
  const first = y + h / 2 - ((lines.length - 1) * 17 + notes.length * 15) / 2 + 5;
  const label = (line, at, extra) =>
    `<text x="${x + w / 2}" y="${at}" text-anchor="middle"${extra}>${escapeXml(line)}</text>`;
  return [
    `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="6" fill="${fill}" stroke="${stroke}" stroke-width="1.5"/>`,
    ...lines.map((line, index) => label(line, first + index * 17, ' font-weight="600"')),
    ...notes.map((line, index) =>
      label(line, first + lines.length * 17 + index * 15 - 1, ' font-size="12" fill="#475569"'),
    ),
  ].join('\n');
}

function arrow({ from: [x1, y1], to: [x2, y2], text = '', dashed = false, dx = 0, dy = -6, anchor = 'middle' }) {
  const [x, y] = [(x1 + x2) / 2 + dx, (y1 + y2) / 2 + dy];
  const dash = dashed ? ' stroke-dasharray="5 4"' : '';
  const line = `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#475569" stroke-width="1.5"${dash} marker-end="url(#tip)"/>`;
  return text === ''
    ? line
    : `${line}\n<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="12" fill="#475569">${escapeXml(text)}</text>`;
}

const note = ({ x, y, text, anchor = 'start', bold = false }) =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="12" fill="#475569"${bold ? ' font-weight="600"' : ''}>${escapeXml(text)}</text>`;

/** Returns a drawing as SVG. `title` describes it for a person who cannot see it. */
export function drawing({ width, height, title, boxes = [], arrows = [], notes = [] }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}" font-family="system-ui, sans-serif" font-size="14" fill="#0f172a">
<title>${escapeXml(title)}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8Z" fill="#475569"/></marker></defs>
<rect width="${width}" height="${height}" rx="10" fill="#f8fafc"/>
${[...boxes.map(box), ...arrows.map(arrow), ...notes.map(note)].join('\n')}
</svg>
`;
}

/** Returns a terminal with these lines as SVG. A line that begins with `$` is a command. */
export function terminal({ title, lines }) {
  const [width, top, step] = [860, 52, 20];
  const height = top + lines.length * step + 12;
  const line = (text, index) =>
    `<text x="20" y="${top + index * step}" xml:space="preserve" fill="${text.startsWith('$') ? '#fbbf24' : '#e2e8f0'}">${escapeXml(text)}</text>`;
  const light = (colour, index) => `<circle cx="${22 + index * 18}" cy="18" r="6" fill="${colour}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="#0f172a"/>
${['#f87171', '#fbbf24', '#4ade80'].map(light).join('\n')}
${lines.map(line).join('\n')}
</svg>
`;
}
