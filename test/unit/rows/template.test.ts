import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, MissingValue, TemplateError } from '../../../src/rows/template.js';

const columns = ['name', 'company name', 'city', 'n-1'];
const cells = ['Ann', 'Acme', '', '7'];

describe('a template', () => {
  it('is rendered in every text of a request, and nowhere else', () => {
    const template = {
      query: 'Who leads {{ row["company name"] }} in {{city | default: "any town"}}?',
      numResults: 5,
      input: { data: [{ name: '{{name}}', kind: 'lead', none: null, yes: true }] },
    };
    const compiled = compileTemplate(template, columns);
    expect(compiled.columns).toEqual(['name', 'company name', 'city']);
    expect(compiled.render(cells)).toEqual({
      query: 'Who leads Acme in any town?',
      numResults: 5,
      input: { data: [{ name: 'Ann', kind: 'lead', none: null, yes: true }] },
    });
  });

  it('never evaluates data', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => {
        fc.pre(text.trim() !== '');
        for (const cell of [text, `{{${text}}}`, `{% include "${text}" %}`, '{{ name }}{% raw %}']) {
          expect(compileTemplate('<{{name}}>', ['name']).render([cell])).toBe(`<${cell}>`);
        }
      }),
    );
  });

  it('needs every cell that it names, unless it has a default', () => {
    const render = (text: string) => compileTemplate(text, columns).render(cells);
    expect(() => render('in {{city}}')).toThrow(MissingValue);
    expect(() => render('in {{row["city"]}}')).toThrow(MissingValue);
    expect(render('in {{city | default: "x"}}')).toBe('in x');
    expect(render('{{name}}{% if city %} of {{city}}{% endif %}')).toBe('Ann');
    try {
      render('{{name}} in {{row.city}}');
    } catch (error) {
      expect((error as MissingValue).column).toBe('city');
    }
  });

  it('with a mistake is refused with its position and the existing columns', () => {
    const refuse = (template: Parameters<typeof compileTemplate>[0]) => () => compileTemplate(template, columns);
    expect(refuse('{{nmae}}')).toThrow(/names "nmae", which is not a column; the columns are "name", "company name"/);
    expect(refuse({ a: [{ b: '{{ name' }] })).toThrow(/The template of a\[0\]\.b is invalid: .*not closed/);
    expect(refuse('{{ name | nofilter }}')).toThrow(/nofilter/);
    expect(refuse('no column at all')).toThrow(/uses no column/);
    expect(refuse('{{name}}{% include "secrets" %}')).toThrow(TemplateError);
    for (const name of ['constructor', 'toString', '__proto__'])
      expect(refuse(`{{name}}{% render "${name}" %}`)).toThrow(TemplateError);
  });

  it('cannot run for ever', () => {
    const endless = compileTemplate('{% for i in (1..100000000) %}{{name}}{% endfor %}', columns);
    expect(() => endless.render(cells)).toThrow(/limit/);
  });
});
