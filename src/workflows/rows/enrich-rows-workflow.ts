import type { EnrichedPage, EnrichRowsInput } from '../../core/enrich-rows-schemas.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import { enrichPage } from './enrich-rows.js';

/**
 * The workflow `enrichRows`, for other languages and for large calls: like `enrichRows` in workflow code, but its result is a page of less than
 * 2 MiB. `next` is the input for the other rows.
 */
export async function enrichRows(input: EnrichRowsInput): Promise<EnrichedPage> {
  return enrichPage(publicInput('enrichRows', [input]));
}

setVersioning('moves', enrichRows);
