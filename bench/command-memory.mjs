// Settings of memory as in a command of events, for `node --import`: they come before the modules of a script.
import { limitCommandMemory, limitWalkMemory } from '../dist/files/process-memory.js';

limitWalkMemory();
limitCommandMemory(process.env);
