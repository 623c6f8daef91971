import { choose, mix } from '../base/hash.js';
import { sentences } from '../base/sentences.js';
import { idOf, type Scene, type Theme, themeOf } from './scene.js';
import { stepOf } from './story.js';

const names = ['Ada Lindqvist', 'José Ortega', 'Mei Tanaka', 'Sam O’Neill', 'Priya Raman', 'Łukasz Wójcik'];

/** Enrichments that a webset requests: text, number, and a choice. */
export const enrichments = [
  { title: 'Mission', description: 'What it is for, in a sentence', format: 'text', options: null },
  { title: 'Founded', description: 'The year it began', format: 'number', options: null },
  {
    title: 'Size',
    description: 'How large it is',
    format: 'options',
    options: [{ label: 'small' }, { label: 'medium' }, { label: 'large' }],
  },
] as const;

/** Item `n` of a webset at the step of the scene. */
export function itemAt(scene: Scene, n: number, seed: number): Record<string, unknown> {
  const { story, step } = scene;
  const hash = mix(scene.hash, 300 + n);
  const created = stepOf('webset.item.created', n);
  const enriched = stepOf('webset.item.enriched', n);
  const isEnriched = step >= enriched;
  const theme = themeOf(scene);
  const url = `https://${theme.entity.type.replace('_', '-')}-${hash.toString(36)}.example/${idOf('wpage', seed, story, n)}`;
  const source = n === 0 ? 'import' : 'search';
  return {
    id: idOf('witem', seed, story, n),
    object: 'webset_item',
    source,
    sourceId: source === 'import' ? idOf('import', seed, story) : idOf('wsearch', seed, story, 0),
    websetId: idOf('webset', seed, story),
    properties: propertiesOf(theme, url, hash),
    evaluations: [
      {
        criterion: `is about ${theme.subject}`,
        reasoning: choose(sentences, hash, 301),
        satisfied: choose(['yes', 'yes', 'yes', 'no', 'unclear'], hash, 302),
        references: [{ title: `${theme.subject} – ${theme.city}`, snippet: choose(sentences, hash, 303), url }],
      },
    ],
    enrichments: isEnriched ? enrichments.map((_, index) => resultOf(index, hash, url, story, seed)) : [],
    createdAt: scene.iso(created),
    updatedAt: scene.iso(isEnriched ? enriched : created),
  };
}

function resultOf(index: number, hash: number, url: string, story: number, seed: number): Record<string, unknown> {
  const { format } = enrichments[index] as (typeof enrichments)[number];
  const found = mix(hash, 310 + index) % 10 > 0;
  const value =
    format === 'number'
      ? String(1900 + (mix(hash, 320) % 125))
      : format === 'options'
        ? choose(['small', 'medium', 'large'], hash, 321)
        : choose(sentences, hash, 322);
  return {
    object: 'enrichment_result',
    status: 'completed',
    format,
    result: found ? [value] : null,
    reasoning: found ? choose(sentences, hash, 323) : null,
    references: found ? [{ title: null, snippet: value, url }] : [],
    enrichmentId: idOf('wenrich', seed, story, index),
  };
}

function propertiesOf({ entity, subject, city }: Theme, url: string, hash: number): Record<string, unknown> {
  const description = choose(sentences, hash, 330);
  const name = choose(names, hash, 331);
  const base = { type: entity.type, url, description };
  const title = `${subject}, no. ${hash % 1000}`;
  const published = {
    author: name,
    publishedAt: `${2015 + (hash % 10)}-0${1 + (hash % 9)}-1${hash % 10}T00:00:00.000Z`,
  };
  switch (entity.type) {
    case 'company':
      return {
        ...base,
        content: `${description} ${choose(sentences, hash, 332)}`,
        company: {
          name: `${city} ${subject} ${hash % 1000}`,
          location: city,
          employees: hash % 7 === 0 ? null : hash % 5000,
          industry: subject,
          about: choose(sentences, hash, 333),
          logoUrl: null,
        },
      };
    case 'person':
      return {
        ...base,
        person: { name, location: city, position: `head of ${subject}`, company: null, pictureUrl: null },
      };
    case 'article':
      return { ...base, content: description, article: { title, ...published } };
    case 'research_paper':
      return { ...base, content: description, researchPaper: { title, ...published } };
    default:
      return { ...base, content: null, custom: { title, ...published } };
  }
}
