import { hash } from 'node:crypto';
import type { Sha256 } from '../../core/purchase/unit-key.js';

/** Hex SHA-256 of a text. The function `hash` is the fastest way, which matters for a million rows. */
export const sha256: Sha256 = (text) => hash('sha256', text, 'hex');
