import { Context } from '@temporalio/activity';
import type { MonitorState } from '../../core/monitors/monitor-batch.js';
import { SHOWN_MONITORS } from '../../core/monitors/monitor-batch.js';
import type { QuietMemory, QuietReport } from '../../core/monitors/monitor-warehouse.js';
import type { QuietInput, QuietOutcome } from '../../core/monitors/quiet-input.js';
import {
  beginStep,
  dueQuietAction,
  endStep,
  type HeldMonitor,
  type QuietMonitor,
} from '../../core/monitors/quiet-plan.js';
import type { ActivityDeps } from '../base/deps.js';
import { type First, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { mapConcurrent } from '../call/map-concurrent.js';
import { listStates, readState, setStatus } from './monitor-list.js';

/**
 * `CHUNK`: number of monitors whose intents are written together. The number is small, so that a monitor is changed within seconds after it
 * was read. `WIDTH`: number of concurrent calls.
 */
const CHUNK = 25;
const WIDTH = 5;

/** Input of the activity: the workflow's input and the workflow's clock. */
export interface QuietStep extends QuietInput {
  readonly now: number;
}

/** The activity of quiet hours: one PATCH of the status for each monitor. */
export function createMonitorQuietActivities(deps: ActivityDeps) {
  return {
    /** `takeQuietTurn`: makes the changes that are due now. A retry continues where the earlier attempt ended. */
    async takeQuietTurn(step: First<QuietStep>): Promise<QuietOutcome> {
      return withHeartbeat(async () => {
        await onlyForServed(deps, step);
        return new QuietRun(deps, step, (await deps.monitors.warehouse(step)).quiet).make();
      });
    },
  };
}

class QuietRun {
  readonly #deps: ActivityDeps;
  readonly #step: QuietStep;
  readonly #memory: QuietMemory;
  readonly #left: QuietReport[] = [];
  #paused = 0;
  #unpaused = 0;

  constructor(deps: ActivityDeps, step: QuietStep, memory: QuietMemory) {
    this.#deps = deps;
    this.#step = step;
    this.#memory = memory;
  }

  async make(): Promise<QuietOutcome> {
    const { hours, now, restore } = this.#step;
    const mark = await this.#memory.mark(...this.#key);
    const action = restore ? ({ do: 'end', window: mark?.window ?? '' } as const) : dueQuietAction(now, hours, mark);
    if (action.do === 'begin') await this.#begin(action.window);
    if (action.do === 'end') await this.#end(action.window);
    return {
      did: action.do,
      window: action.do === 'nothing' ? null : action.window,
      paused: this.#paused,
      unpaused: this.#unpaused,
      left: this.#left.slice(0, SHOWN_MONITORS),
      leftCount: this.#left.length,
    };
  }

  get #key(): [string, string] {
    return [this.#deps.origin, this.#step.name];
  }

  async #begin(window: string): Promise<void> {
    await this.#memory.setMark(...this.#key, { window, state: 'beginning' });
    const known = new Map((await this.#memory.remembered(...this.#key)).map((one) => [one.id, one]));
    const matching = await listStates(this.#deps, this.#step.filter);
    const held = await this.#held();
    const stepOf = (one: MonitorState) => beginStep(one, known.get(one.id) ?? null, window, held.get(one.id) ?? null);
    const concerned = matching.filter((one) => stepOf(one) !== 'nothing');
    for (const chunk of chunksOf(concerned)) await this.#pause(chunk, known, held, window);
    await this.#memory.setMark(...this.#key, { window, state: 'begun' });
    // The count is read from the warehouse, because an earlier attempt may have paused some of the monitors.
    const now = await this.#memory.remembered(...this.#key);
    this.#paused = now.filter((one) => one.window === window).length;
  }

  async #pause(
    chunk: readonly MonitorState[],
    known: ReadonlyMap<string, QuietMonitor>,
    held: ReadonlyMap<string, HeldMonitor>,
    window: string,
  ): Promise<void> {
    const intents: QuietMonitor[] = [];
    const adopted: QuietMonitor[] = [];
    await this.#withCurrent(chunk, async (now) => {
      const before = known.get(now.id) ?? null;
      const theirs = held.get(now.id) ?? null;
      const step = beginStep(now, before, window, theirs);
      const { id, name, updatedAt } = now;
      if (step === 'pause')
        intents.push({ id, name, window, state: 'pausing', before: updatedAt, after: null, keptBy: null });
      if (step === 'adopt' && before) adopted.push({ ...before, state: 'paused', after: updatedAt });
      if (step === 'join') {
        const keptBy = theirs?.keptBy ?? null;
        adopted.push({ id, name, window, state: 'paused', before: null, after: updatedAt, keptBy });
      }
    });
    await this.#memory.remember(...this.#key, [...intents, ...adopted]);
    const paused: QuietMonitor[] = [];
    const gone: string[] = [];
    const { cancellationSignal } = Context.current();
    await mapConcurrent(intents, WIDTH, async (one) => {
      if (cancellationSignal.aborted) return;
      const now = await setStatus(this.#deps, one.id, 'paused');
      if (now === null) gone.push(one.id);
      else paused.push({ ...one, state: 'paused', after: now.updatedAt });
    });
    await this.#memory.remember(...this.#key, paused);
    await this.#memory.forget(...this.#key, gone);
    // Known results have been recorded. Monitors that are not paused yet keep their intents.
    cancellationSignal.throwIfAborted();
  }

  async #end(window: string): Promise<void> {
    const remembered = await this.#memory.remembered(...this.#key);
    const held = await this.#held();
    for (const chunk of chunksOf(remembered)) await this.#unpause(chunk, held);
    await this.#memory.setMark(...this.#key, this.#step.restore ? null : { window, state: 'ended' });
  }

  async #unpause(chunk: readonly QuietMonitor[], held: ReadonlyMap<string, HeldMonitor>): Promise<void> {
    const ours: QuietMonitor[] = [];
    const done: string[] = [];
    const left: QuietReport[] = [];
    await mapConcurrent(chunk, WIDTH, async (known) => {
      const { id, name } = known;
      const now = await readState(this.#deps, id);
      const step = endStep(known, now);
      const others = held.get(id);
      if (step.do === 'unpause' && others) {
        done.push(id);
        // The report is not written into the warehouse, because each run repeats the report.
        this.#left.push({ id, name, what: `quiet hours ${others.schedule} still apply` });
        return;
      }
      if (step.do === 'unpause') {
        // If the answer to the pause got lost, the time of the pause is known only now.
        ours.push({ ...known, state: 'unpausing', after: now?.updatedAt ?? null });
        return;
      }
      done.push(id);
      if (step.why !== null) left.push({ id, name, what: step.why });
    });
    await this.#memory.report(...this.#key, this.#step.now, left);
    await this.#memory.forget(...this.#key, done);
    await this.#memory.remember(...this.#key, ours);
    await mapConcurrent(ours, WIDTH, async ({ id }) => {
      await setStatus(this.#deps, id, 'active');
    });
    await this.#memory.forget(
      ...this.#key,
      ours.map(({ id }) => id),
    );
    this.#unpaused += ours.length;
    this.#left.push(...left);
  }

  /** Returns the monitors that other quiet hours have paused, by id. */
  async #held(): Promise<ReadonlyMap<string, HeldMonitor>> {
    return new Map((await this.#memory.held(...this.#key)).map((one) => [one.id, one]));
  }

  async #withCurrent(states: readonly MonitorState[], see: (now: MonitorState) => Promise<void>): Promise<void> {
    await mapConcurrent(states, WIDTH, async ({ id }) => {
      const now = await readState(this.#deps, id);
      if (now !== null) await see(now);
    });
  }
}

function chunksOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(CHUNK * index, CHUNK * (index + 1)),
  );
}
