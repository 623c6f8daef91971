import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, type MissingValue } from '../../../src/rows/template.js';

const columns = [
  'name',
  'Website URL',
  'E-Mail',
  'Firma/Name',
  'a "quoted" one',
  'a|b',
  ' padded ',
  'true',
  '1st',
  'x.y',
];
const cells = columns.map((name) => `<${name}>`);
const render = (text: string) => compileTemplate(text, columns).render(cells);
const refused = (text: string): string => {
  try {
    compileTemplate(text, columns);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was taken');
};

describe('a column whose name is not a single word', () => {
  it.each([
    ['{{Website URL}}', 'Website URL'],
    ['{{ Website URL | strip | default: "none" }}', 'Website URL'],
    ['{{- Website URL -}}', 'Website URL'],
    ['{{Firma/Name}}', 'Firma/Name'],
    ['{{E-Mail}}', 'E-Mail'],
    ['{{a "quoted" one}}', 'a "quoted" one'],
    ['{{a|b}}', 'a|b'],
    ['{{padded}}', ' padded '],
    ['{{true}}', 'true'],
    ['{{1st}}', '1st'],
    ['{{x.y}}', 'x.y'],
  ])('is written as %s', (text, column) => {
    expect(render(text)).toBe(`<${column}>`);
    expect(compileTemplate(text, columns).columns).toEqual([column]);
  });

  it('is named if its cell is empty', () => {
    const compiled = compileTemplate('{{name}} at {{Website URL}}', columns);
    const column = (() => {
      try {
        compiled.render(columns.map((name) => (name === 'Website URL' ? ' ' : name)));
      } catch (error) {
        return (error as MissingValue).column;
      }
      return null;
    })();
    expect(column).toBe('Website URL');
  });

  it('may have any name that is valid in a header', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => text.trim() !== '' && !/[{}]|^-|-$/.test(text.trim()));
    fc.assert(
      fc.property(name, (column) => {
        expect(compileTemplate(`{{${column}}}`, [column]).render(['x'])).toBe('x');
      }),
    );
  });

  it.each(['and', 'or', 'not', 'contains', 'true', 'blank', 'row'])('may be the word %s of Liquid', (column) => {
    expect(compileTemplate(`{{${column}}} and {{ ${column} | upcase }}`, [column]).render(['x'])).toBe('x and X');
  });

  it('may be row, beside lookups in the row', () => {
    const text = '{{row}} {{ row | upcase }} {{row.row}} {{row["a b"]}}';
    const compiled = compileTemplate(text, ['row', 'a b']);
    expect(compiled.render(['x', 'y'])).toBe('x X x y');
    expect(compiled.columns).toEqual(['row', 'a b']);
    expect(() => compiled.render(['', 'y'])).toThrow('undefined variable');
    expect(() => compileTemplate('{{a}}{% if row %}x{% endif %}', ['row', 'a'])).toThrow('row["row"]');
    expect(refused('{{name}} {{row}}')).toContain('names "row", which is not a column');
  });

  it.each(['size', 'first', 'last', 'length'])('may be %s, also if its cell is empty', (column) => {
    for (const text of [`{{${column}}}`, `{{row.${column}}}`]) {
      const compiled = compileTemplate(text, [column, 'other']);
      expect(compiled.render(['7', 'x'])).toBe('7');
      expect(() => compiled.render(['', 'x'])).toThrow('undefined variable');
    }
  });

  it('leaves raw blocks and other variables unchanged', () => {
    expect(render('{{name}}{% raw %}{{Website URL}}{% endraw %}')).toBe('<name>{{Website URL}}');
    expect(render('{% if row["Website URL"] %}{{ Website URL }}{% endif %}')).toBe('<Website URL>');
  });

  it.each(['{{website url}}', '{{Website_URL}}', '{{Website  Url | strip}}', '{{WebsiteURL}}'])(
    'is suggested in the form that works for %s',
    (text) => {
      expect(refused(text)).toMatch(/did you mean {{Website URL}} \(in tags and filters row\["Website URL"\]\)\?$/);
    },
  );

  it('is suggested in the form for tags if it is used in one', () => {
    expect(refused('{% if Website URL %}{{name}}{% endif %}')).toContain('row["Website URL"]');
    expect(refused('{{name | append: Website URL}}')).toContain('row["Website URL"]');
    expect(refused('{{nmae}}')).toMatch(/did you mean {{name}}\?$/);
  });
});
