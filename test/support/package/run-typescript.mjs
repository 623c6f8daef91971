// node --import ./run-typescript.mjs worker.ts: runs TypeScript as tsx does. Each file is compiled by itself and keeps its name.
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformSync } from '@swc/core';

const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } };

/** The hook by which Node reads a module; it compiles TypeScript. */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = transformSync(readFileSync(fileURLToPath(url), 'utf8'), options);
  return { format: 'module', source: code, shortCircuit: true };
}

if (isMainThread) register(import.meta.url);
