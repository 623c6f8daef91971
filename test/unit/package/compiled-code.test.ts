import module from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { keepCompiledCode } from '../../../src/files/compiled-code.js';

const cache = { XDG_CACHE_HOME: '/home/ann/cache', LOCALAPPDATA: '/home/ann/cache', HOME: '/home/ann' };

it('compiled code is kept in a folder of the user', () => {
  const enableCompileCache = vi.fn();
  const before = Reflect.get(module, 'enableCompileCache');
  onTestFinished(() => void Reflect.set(module, 'enableCompileCache', before));
  Reflect.set(module, 'enableCompileCache', enableCompileCache);
  keepCompiledCode(cache);
  expect(enableCompileCache.mock.calls).toEqual([[expect.stringMatching(/^\/home\/ann\/.*searchflow[\\/]code$/)]]);
});

it('a Node.js without such a cache compiles the code again', () => {
  const before = Reflect.get(module, 'enableCompileCache');
  onTestFinished(() => void Reflect.set(module, 'enableCompileCache', before));
  Reflect.set(module, 'enableCompileCache', undefined);
  expect(() => keepCompiledCode(cache)).not.toThrow();
});
