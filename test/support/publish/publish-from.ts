import type { PublishRequest } from '../../../src/core/publish-request.js';
import { openWarehouse } from '../../../src/warehouse/index.js';

/** A publish of a whole job that replaces the rows of its target. */
export const whole = { subject: { job: 'brands-1' }, mode: 'replace', key: [], partition: null } as const;
type Request = Partial<PublishRequest> & { readonly to: string };

/** Publishes from the warehouse at this address, and closes it. */
export async function publishFrom(
  address: string,
  request: Request,
  options: Parameters<typeof openWarehouse>[1] = {},
) {
  const warehouse = openWarehouse(address, options);
  try {
    return await warehouse.publisher.publish({ ...whole, ...request });
  } finally {
    await warehouse.close();
  }
}
