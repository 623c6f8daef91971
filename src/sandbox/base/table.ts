import { z } from 'zod';
import type { World } from '../world.js';
import { badCursor, type ListQuery, pageOf, Refusal } from './refusal.js';
import type { NextId } from './sentences.js';

/** What distinguishes the records of a table. */
interface Kind<T> {
  /** Name of the records in the file of the ledger. */
  readonly fact: string;
  /** The source of their ids. */
  readonly ids: string;
  /** Name of a record in messages. */
  readonly noun: string;
  readonly schema: z.ZodType<T>;
  /** For records that end, such as runs: the operation and the price of the charge at the end, in micro-dollars. */
  readonly run?: {
    readonly operation: string;
    /** Unix ms. */
    readonly endOf: (record: T) => number;
    readonly priceOf: (record: T) => number;
  };
}

/** The records of one kind, in the order of their creation. Their changes are facts of the ledger. */
export class Table<T extends { readonly id: string }> {
  readonly #world: World;
  readonly #kind: Kind<T>;
  readonly #records = new Map<string, T>();
  /** Numbers of all records ever created, by id: a cursor may name a deleted record. */
  readonly #serials = new Map<string, number>();
  readonly #open = new Set<string>();
  #maxOpen = 0;
  readonly nextId: NextId;
  /** Adds a record, or replaces it. */
  readonly put: (record: T) => void;
  readonly delete: (id: string) => void;

  /** `changed` is called after each change, also of an earlier process. Without a record, the record was deleted. */
  constructor(world: World, kind: Kind<T>, changed: (id: string, record?: T) => void = () => {}) {
    this.#world = world;
    this.#kind = kind;
    this.nextId = world.ids(kind.ids);
    const { ledger } = world;
    this.put = ledger.facts(kind.fact, kind.schema, (record) => {
      const { id } = record;
      if (!this.#serials.has(id)) this.#serials.set(id, this.#serials.size + 1);
      this.#records.set(id, record);
      if (kind.run && !ledger.isCharged(id)) this.#open.add(id);
      changed(id, record);
    });
    this.delete = ledger.facts(`${kind.fact}-deleted`, z.string(), (id) => {
      this.#open.delete(id);
      this.#records.delete(id);
      changed(id);
    });
  }

  find(id: string): T | undefined {
    return this.#records.get(id);
  }

  /** Throws 404 if there is no such record. */
  get(id: string): T {
    const record = this.find(id);
    if (!record) throw new Refusal(404, `There is no ${this.#kind.noun} ${id}`);
    return record;
  }

  /** The oldest first. */
  all(): T[] {
    return [...this.#records.values()];
  }

  /** Number of records ever created. */
  get count(): number {
    return this.#serials.size;
  }

  /** Records in progress. */
  open(): T[] {
    return [...this.#open].map((id) => this.get(id));
  }

  /**
   * Adds a record that starts now; `make` gets a new id. Refuses if the credits are used up, or if `most` records are in progress, with this
   * tag.
   */
  start(most: number, tag: string, make: (id: string) => T): T {
    this.#world.ledger.checkCredits();
    if (this.#open.size >= most) {
      throw new Refusal(429, `${most} ${this.#kind.noun}s are in progress, which is the maximum`, { tag });
    }
    const record = make(this.nextId());
    this.put(record);
    this.#maxOpen = Math.max(this.#maxOpen, this.#open.size);
    return record;
  }

  /** Charges a record that has ended. */
  close(record: T): void {
    const { run } = this.#kind;
    this.#open.delete(record.id);
    if (run) this.#world.ledger.charge(run.operation, record.id, run.priceOf(record));
  }

  /** Charges the records that have ended since the last call. */
  settle(): void {
    const now = this.#world.now();
    for (const record of this.open()) if ((this.#kind.run?.endOf(record) ?? 0) <= now) this.close(record);
  }

  /** A page of the list, the newest record first. The cursor is the id of the last record of the page before. */
  page({ limit, cursor }: ListQuery, view: (record: T) => unknown, isWanted: (record: T) => boolean = () => true) {
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : this.#serials.get(cursor);
    if (before === undefined) throw badCursor();
    const rest = this.all().filter((record) => (this.#serials.get(record.id) as number) < before && isWanted(record));
    return pageOf(rest.reverse(), limit, view);
  }

  /** Numbers for tests. */
  view(statusOf: (record: T) => string) {
    const byStatus: Record<string, number> = {};
    for (const record of this.all()) byStatus[statusOf(record)] = (byStatus[statusOf(record)] ?? 0) + 1;
    return { inProgress: this.#open.size, maxInProgress: this.#maxOpen, byStatus };
  }

  reset(): void {
    for (const part of [this.#records, this.#serials, this.#open]) part.clear();
    this.#maxOpen = 0;
  }
}
