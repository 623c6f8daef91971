import { fieldOf } from '../api/field-of.js';
import type { Claimed, Lost } from '../core/journal.js';
import type { Json } from '../core/json.js';
import { type Asked, type LostStart, tagOf } from './attempt.js';
import type { RunFacts, Slow, Unit } from './order.js';
import { Request, type Shared } from './request.js';

/** What a start without an answer made may have begun so long before its intent, by the service's clock. */
const LOOK_BACK_MS = 5 * 60_000;
/** How often it is looked for until its answer is overdue, and how long after that once more. */
const LOOK_MS = 20_000;
const LAST_LOOK_MS = 3000;

/**
 * A unit that runs at the service after its start, to its end: taken over where it runs already, looked for where a start got no
 * answer, started where there is none; then followed and landed. A second start is never made blindly.
 */
export class SlowUnit {
  readonly #shared: Shared;
  readonly #slow: Slow;
  readonly #unit: Unit;
  readonly #claimed: Claimed;

  constructor(shared: Shared, slow: Slow, unit: Unit, claimed: Claimed) {
    this.#shared = shared;
    this.#slow = slow;
    this.#unit = unit;
    this.#claimed = claimed;
  }

  async toEnd(): Promise<void> {
    const { attempt } = this.#shared;
    const { started, lost } = this.#claimed;
    if (started) return this.#follow(attempt.adopt(this.#unit, started, 0), readFacts(started.facts));
    if (lost) return this.#search(lost, null);
    if (this.#slow.startsNothing) return;
    const end = await new Request(this.#shared, [this.#unit]).attempts();
    if (end === null) return;
    if ('facts' in end) return this.#follow(end.asked, end.facts);
    const { id, at, deadline } = end.asked;
    return this.#search({ intentId: id, at, deadline }, end);
  }

  /** Looks for the run until it is certain that it can't be told. `start`: the one without an answer, whose intent is open. */
  async #search({ intentId, at, deadline }: Lost, start: LostStart | null): Promise<void> {
    const { deps, waits, order, attempt, stop, giveUp } = this.#shared;
    const sought = { tag: tagOf(this.#unit, intentId), since: at - LOOK_BACK_MS, said: start?.error.message ?? null };
    for (let late = 0; ; ) {
      const facts = await this.#slow.find(this.#unit, sought, stop);
      if (facts) {
        await deps.journal.note(intentId, order.owner, { ...facts });
        const asked = start?.asked ?? attempt.adopt(this.#unit, { intentId, at }, deadline);
        return this.#follow(asked, facts);
      }
      const now = Date.now();
      if (now >= deadline && ++late === 2) break;
      const ms = now < deadline ? Math.min(LOOK_MS, deadline - now) : LAST_LOOK_MS;
      await waits.sleep(ms, 'a run whose start got no answer', stop);
    }
    if (start) await attempt.miss(start.asked, start.error.message, 'maybe');
    await giveUp([this.#unit]);
    await this.#slow.places.free(this.#unit.key);
  }

  async #follow(asked: Asked, facts: RunFacts): Promise<void> {
    const { attempt, tally, stop, settle } = this.#shared;
    const { places } = this.#slow;
    await places.name(this.#unit.key, facts.run);
    tally.running++;
    try {
      const bought = await this.#slow.follow(this.#unit, facts, asked.at, stop);
      if (bought) await attempt.land(asked, bought);
      else {
        const why = `the service tells nothing more of the run ${facts.run}`;
        await attempt.miss(asked, why, 'maybe');
        await settle(this.#unit, 'RUN_GONE', `${why}; what it cost is not known`);
      }
    } finally {
      tally.running--;
    }
    await places.free(this.#unit.key);
  }
}

function readFacts(facts: Json): RunFacts {
  const [run, requestId] = [fieldOf(facts, 'run'), fieldOf(facts, 'requestId')];
  if (typeof run !== 'string') throw new Error('the journal notes a start without its run');
  return { run, requestId: typeof requestId === 'string' ? requestId : null };
}
