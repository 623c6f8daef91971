import { hash } from 'node:crypto';
import type { Sha256 } from '../../core/purchase/unit-key.js';

/** Hex SHA-256 of a text, in one call: a million rows are a million of them. */
export const sha256: Sha256 = (text) => hash('sha256', text, 'hex');
