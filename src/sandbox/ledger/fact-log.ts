/** A change of state that a later process needs. `kind` names the store that restores the fact. */
export interface Fact {
  readonly kind: string;
  readonly [name: string]: unknown;
}

/** Writes a fact before the answer that depends on it is sent. Facts keep their order. */
export type WriteFact = (fact: Fact) => void;

/** Restores a fact of an earlier process. Returns false if the kind of the fact is unknown; throws if the fact is malformed. */
export type RestoreFact = (fact: unknown) => boolean;
