/** A change of state that a later process must know of. `kind` says which store reads it. */
export interface Fact {
  readonly kind: string;
  readonly [name: string]: unknown;
}

/** Where facts are written down, in order, before the answer that tells of them. */
export type WriteFact = (fact: Fact) => void;

/** Takes up a fact of an earlier process; false where it is of no kind it knows. Throws where it is malformed. */
export type RestoreFact = (fact: unknown) => boolean;
