/** The phrases of a text, which are separated by commas. */
const phrases = (text: string) => text.trim().split(/,\s+/);

const subjects = phrases(`
  The workshop, Our archive, A small team, The Zürich office, The harbour authority, Every second order,
  The annual report, A naïve reading, The museum café, Their new catalogue, The repair guide, Nobody in town,
  The São Paulo branch, This page, The founder, An independent review`);
const verbs = phrases(`
  describes, measured, quietly replaced, compares, still prefers, sells, documents, tested, questions, collected, ships,
  will publish`);
const objects = phrases(`
  the older models, three kinds of paper, a map of the coast, parts for vintage radios, figures from 2019 to 2024,
  the price of copper wire, recipes from 東京, an open standard, twelve letters to the editor, a list of suppliers,
  the “long winter” edition, software for schools`);
const endings = phrases(`
  without much fuss, in its second chapter, for about 40 € each, as readers had asked, before the rain came,
  and explains why – twice, with a margin of 2.5 %, on a quiet Tuesday 🙂, next to the station, in plain words`);

/**
 * English-looking sentences, each with its full stop; some have letters beyond ASCII. They are prepared once, because making them for each page
 * would take most of the time of a request.
 */
export const sentences: readonly string[] = Array.from({ length: 1024 }, (_, index) => {
  const hash = mix(index, 17);
  const words = [choose(subjects, hash, 1), choose(verbs, hash, 2), choose(objects, hash, 3), choose(endings, hash, 4)];
  return `${words.join(' ')}.`;
});

/** A few sentences that follow from a hash. */
export function prose(hash: number, count: number): string {
  return Array.from({ length: count }, (_, index) => choose(sentences, hash, index + 1)).join(' ');
}

const adjectives = ['Quiet', 'Northern', 'Practical', 'Complete', 'Second', 'Modern', 'Small', 'Honest'];
const things = ['Guide', 'Catalogue', 'Review', 'Field Notes', 'Handbook', 'Index', 'Story', 'Überblick'];
/** Names of made-up people. */
export const people = ['Ada Lindqvist', 'José Ortega', 'Mei Tanaka', 'Sam O’Neill', 'Priya Raman', 'Łukasz Wójcik'];

/** A page title. About one title in twenty has quotes and a comma, to test CSV files. */
export function titleOf(hash: number, host: string): string {
  const title = `${choose(adjectives, hash, 31)} ${choose(things, hash, 32)} – ${host}`;
  return mix(hash, 33) % 20 === 0 ? `"${title}", revised` : title;
}

/** An author. One page in five has none. */
export function authorOf(hash: number): string | undefined {
  return mix(hash, 34) % 5 === 0 ? undefined : choose(people, hash, 35);
}

/** Unsigned 32-bit hash of a text under a seed (FNV-1a, then a finisher that spreads every bit). Not for secrets. */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix(hash, 0);
}

/** Another unsigned 32-bit number from the same hash: each `salt` gives an independent number. */
export function mix(hash: number, salt: number): number {
  let value = (hash ^ Math.imul(salt + 1, 0x9e3779b9)) >>> 0;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** A number from 0 (inclusive) to 1 (exclusive). */
export function fraction(hash: number, salt: number): number {
  return mix(hash, salt) / 0x100000000;
}

/** One element of a list, by hash. The list must not be empty. */
export function choose<T>(items: readonly T[], hash: number, salt: number): T {
  return items[mix(hash, salt) % items.length] as T;
}

/** Makes ids that look random but follow from seed, start and order. Two starts with one purchase log file never make the same id. */
export type NextId = () => string;

/** `starts`: number of earlier openings of the purchase log file. Returns 32 hexadecimal digits. */
export function idsOf(seed: number, starts: number, kind = ''): NextId {
  const base = hashText(`start ${starts}${kind}`, seed);
  let serial = 0;
  return () => {
    serial += 1;
    return (
      [1, 2, 3].map((salt) => mix(mix(base, salt), serial).toString(16).padStart(8, '0')).join('') +
      serial.toString(16).padStart(8, '0')
    );
  };
}

/** 32 hexadecimal digits in the form of a UUID. */
export function toUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
}
