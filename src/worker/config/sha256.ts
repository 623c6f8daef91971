import { hash } from 'node:crypto';
import type { Sha256 } from '../../core/purchase/unit-key.js';

/** Hex SHA-256 of a text. `hash` is the fastest form, which counts for a million rows. */
export const sha256: Sha256 = (text) => hash('sha256', text, 'hex');
