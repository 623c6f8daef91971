import { mulberry } from '../schedules/changing-file.js';

type Line = readonly [id: string, name: string, url: string];

/** A CSV that changes every night: rows are new, edited, gone or there twice, and some have no URL. */
export class NightlyFile {
  lines: Line[] = [];
  readonly #random: () => number;
  #next = 0;

  constructor(seed: number) {
    this.#random = mulberry(seed);
  }

  /**
   * The edits of a night. `wanted`: `good` adds only rows whose pages can be bought; `failing` puts rows before them whose pages are gone, and
   * which the next edit removes.
   */
  change(wanted: 'mixed' | 'good' | 'failing'): void {
    this.lines = this.lines.filter(([, , url]) => !url.includes('/gone/all-'));
    for (let times = this.#upTo(6); times > 0; times--) this.lines.splice(this.#index(), 1);
    for (let times = this.#upTo(3); times > 0; times--) this.#edit();
    for (let times = 12 + this.#upTo(6); times > 0; times--) this.#add('page');
    if (wanted === 'good') return;
    if (wanted === 'failing') {
      const gone = Array.from({ length: 40 }, (): Line => [`g${this.#next}`, 'Gone', this.#url('gone/all')]);
      this.lines.unshift(...gone);
      return;
    }
    this.#add('gone/page');
    this.#add('slow');
    this.lines.push([`b${this.#next++}`, 'Bad', 'no url']);
    const again = this.lines[this.#index()];
    if (again) this.lines.push(again);
  }

  #add(path: string): void {
    this.lines.splice(this.#index(), 0, [String(this.#next), `Company ${this.#next}`, this.#url(path)]);
  }

  /** A row gets another name, or the URL of another row. */
  #edit(): void {
    const at = this.#index();
    const [line, other] = [this.lines[at], this.lines[this.#index()]];
    if (!line || !other) return;
    this.lines[at] = this.#random() < 0.5 ? [line[0], `${line[1]}+`, line[2]] : [line[0], line[1], other[2]];
  }

  #url(path: string): string {
    const number = this.#next++;
    return `https://host-${number % 5}.example/${path}-${number}`;
  }

  #index(): number {
    return Math.floor(this.#random() * this.lines.length);
  }

  #upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }
}
