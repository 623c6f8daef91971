/** A change of state that a later process needs. `kind` names the store that reads it. */
export interface Fact {
  readonly kind: string;
  readonly [name: string]: unknown;
}

/** Writes facts, in order, before the answer that depends on them. */
export type WriteFact = (fact: Fact) => void;

/** Restores a fact of an earlier process; false if its kind is unknown. Throws if it is malformed. */
export type RestoreFact = (fact: unknown) => boolean;
