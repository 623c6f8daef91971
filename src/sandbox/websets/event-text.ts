import { DESIGNS, idOf, type Kind, type Scene } from './story.js';
import { eventData } from './webset.js';

/** A value that differs between two websets of one design: an id, a time, or the number in the external id. */
type Slot = (scene: Scene) => string;

/** The data of an event as pieces of text with a slot between each two pieces. */
interface Template {
  readonly pieces: readonly string[];
  readonly slots: readonly Slot[];
}

/**
 * The number of a webset that has this design and does not exist. The values of that webset occur nowhere else, so they can be found in a
 * text.
 */
const standIn = (design: number) => DESIGNS * 2 ** 31 + design;

/**
 * The data of events as JSON in ASCII. The data is made from templates, and a template is made when it is needed: serialising each event
 * would take most of the time of a page. The text equals the JSON of the event's record, except for escapes.
 */
export class EventTexts {
  readonly #seed: number;
  readonly #templates = new Map<number, Template>();
  /** Ids of the latest websets. All events of one webset use the same few ids. */
  readonly #ids = new Map<number, string[]>();
  readonly #keys = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  dataOf(scene: Scene): string {
    const { pieces, slots } = this.#templateOf(scene);
    let text = pieces[0] as string;
    for (let index = 0; index < slots.length; index += 1) {
      text += (slots[index] as Slot)(scene) + (pieces[index + 1] as string);
    }
    return text;
  }

  #templateOf(scene: Scene): Template {
    const design = scene.story % DESIGNS;
    const key = design * 256 + scene.step;
    const known = this.#templates.get(key);
    if (known) return known;
    const story = standIn(design);
    const iso = (step: number, laterMs = 0) => `~${step}+${laterMs}~`;
    const text = asciiJson(eventData({ ...scene, story, iso }, this.#seed));
    const template = this.#split(text, story);
    this.#templates.set(key, template);
    return template;
  }

  #split(text: string, story: number): Template {
    const seed = this.#seed;
    const gap = new RegExp(
      `~(\\d+)\\+(\\d+)~|([a-z]+)_[0-9a-f]{8}${story.toString(36)}(?:-(\\d+))?|external-${story}`,
      'g',
    );
    const pieces: string[] = [];
    const slots: Slot[] = [];
    let from = 0;
    for (const found of text.matchAll(gap)) {
      pieces.push(text.slice(from, found.index));
      from = found.index + found[0].length;
      const [, step, laterMs, kind, n] = found;
      if (step !== undefined) slots.push((scene) => scene.iso(Number(step), Number(laterMs)));
      else if (kind === undefined) slots.push((scene) => `external-${scene.story}`);
      else {
        const index = n === undefined ? undefined : Number(n);
        const key = this.#keyOf(`${kind} ${n}`);
        slots.push(({ story }) => (this.#idsOf(story)[key] ??= idOf(kind as Kind, seed, story, index)));
      }
    }
    return { pieces: [...pieces, text.slice(from)], slots };
  }

  #keyOf(name: string): number {
    const key = this.#keys.get(name) ?? this.#keys.size;
    this.#keys.set(name, key);
    return key;
  }

  #idsOf(story: number): string[] {
    const known = this.#ids.get(story);
    if (known) return known;
    if (this.#ids.size > 256) this.#ids.clear();
    const ids: string[] = [];
    this.#ids.set(story, ids);
    return ids;
  }
}

/** JSON in ASCII only, which takes one byte a letter and is sent without re-coding. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
