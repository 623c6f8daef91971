import { CodedError } from '../errors/coded-error.js';
import type { ErrorCode } from '../errors/registry.js';

/** Another process holds the warehouse. The caller must wait and retry. */
export class WarehouseBusy extends CodedError {
  override readonly name = 'WarehouseBusy';
  constructor(
    code: ErrorCode,
    message: string,
    /** The process that holds the warehouse, where known. */
    readonly pid: number | null,
    /** Set if only this worker cannot use the warehouse. */
    readonly refusal: WorkerRefusal | null = null,
  ) {
    super(code, message);
  }
}

/** A worker that cannot use a warehouse. Commands report it once, while its work waits for another worker. */
export interface WorkerRefusal {
  readonly host: string;
  readonly pid: number;
  readonly waitsFor: string;
}

/** The warehouse cannot be used until a person fixes a problem: wrong table, no permission, full disk, damaged file. */
export class WarehouseUnusable extends CodedError {
  override readonly name = 'WarehouseUnusable';
}

/** The warehouse has no rows of the job: nothing was loaded yet, or the tables are gone. */
export class JobNotLoaded extends WarehouseUnusable {}

/** The load needs more memory than the warehouse has. A smaller part of the load may fit. */
export class TooMuchAtOnce extends WarehouseUnusable {}
