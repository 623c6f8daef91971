import { ChildProcess } from 'node:child_process';

// A unit test starts no process. A test that needs one belongs to the contract or the long tier.
(ChildProcess.prototype as unknown as { spawn: () => never }).spawn = () => {
  throw new Error('unit tests start no process: move this test to test/contract or test/long');
};
