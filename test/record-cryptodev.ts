/**
 * `node build/test/record-cryptodev.js [DEVICE]`: what a /dev/crypto says in the conversation of helpers/cryptodev-answers.ts. With the
 * module itself behind it, in a guest without AES instructions, that is test/data/cryptodev/answers.txt; see rig/cryptodev/README.md.
 */
import { writeSync } from 'node:fs';

import { answers } from './helpers/cryptodev-answers.js';

answers(process.argv[2] ?? '/dev/crypto', (line) => void writeSync(1, `${line}\n`));
